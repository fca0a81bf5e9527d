"""Comparison of arrays, ranges of dtypes, gradients by differences."""

from __future__ import annotations

import numpy as np
import pytest

import tvm.testing

pytestmark = pytest.mark.pure


def test_allclose_compares_shapes_and_values() -> None:
    tvm.testing.assert_allclose([1.0, 2.0], np.array([1.0, 2.0 + 1e-9]))
    with pytest.raises(AssertionError, match=r"shape \(2,\), wanted \(1,\)"):
        tvm.testing.assert_allclose([1.0, 1.0], [1.0])
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        tvm.testing.assert_allclose([1.0], [1.1], rtol=1e-3)


def test_range_of_dtypes() -> None:
    assert tvm.testing.get_dtype_range("int8") == (-128, 127)
    assert tvm.testing.get_dtype_range("uint16") == (0, 65535)
    assert tvm.testing.get_dtype_range("bool") == (0, 1)
    assert tvm.testing.get_dtype_range("float16")[1] == 65504
    assert float(tvm.testing.get_dtype_range("float8_e4m3fn")[1]) == 448
    with pytest.raises(tvm.TVMError, match="legal: integers, floats and bool"):
        tvm.testing.get_dtype_range("handle")


def test_gradients() -> None:
    x, y = np.array([1.0, -2.0, 0.0]), np.array([3.0, 0.5, 2.0])

    def loss(x, y):
        return np.sum(np.maximum(x, 0) * y)

    right = [np.where(x > 0, y, 0), np.maximum(x, 0)]
    tvm.testing.check_numerical_grads(loss, [x, y], right)
    names = {"x": x, "y": y}
    tvm.testing.check_numerical_grads(loss, names, {"x": right[0], "y": right[1]})
    with pytest.raises(AssertionError, match="gradient of 1 is"):
        tvm.testing.check_numerical_grads(loss, [x, y], [right[0], right[1] + 1])
    with pytest.raises(AssertionError, match="gradient of 0 has shape"):
        tvm.testing.check_numerical_grads(loss, [x, y], [right[0][:2], right[1]])
