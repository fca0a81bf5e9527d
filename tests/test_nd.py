"""Scripts that call tensors what they were called before."""

from __future__ import annotations

import numpy as np
import pytest

import tvm

pytestmark = pytest.mark.pure


def test_arrays() -> None:
    x = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3), tvm.nd.cpu(0))
    assert isinstance(x, tvm.nd.NDArray)
    assert isinstance(x, tvm.runtime.Tensor)
    y = tvm.nd.empty((2, 3), "float32", tvm.cpu())
    x.copyto(y)
    np.testing.assert_array_equal(y.numpy(), [[0, 1, 2], [3, 4, 5]])
    assert x.asnumpy().shape == (2, 3)
    assert tvm.nd.array([1, 2]).dtype == tvm.runtime.tensor([1, 2]).dtype


def test_functions_by_name() -> None:
    @tvm.register_func("tests.nd.add_one")
    def add_one(x: int) -> int:
        return x + 1

    assert tvm.get_global_func("tests.nd.add_one")(1) == 2
