from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.support.dtype import DataType
from tvm.tir.interp.errors import DivisionByZero, InterpreterError
from tvm.tir.interp.values import binary_rule, cast, is_odd_width, numpy_dtype, wrap

pytestmark = pytest.mark.pure


def test_types() -> None:
    assert numpy_dtype(DataType("float32x4")) == np.float32
    assert numpy_dtype(DataType("bool")) == np.bool_
    assert numpy_dtype(DataType("int4")) == np.int8
    assert numpy_dtype(DataType("float8_e4m3fn")).itemsize == 1
    with pytest.raises(InterpreterError, match=r"no meaning in numpy"):
        numpy_dtype(DataType("custom[own]16"))


def test_odd_widths_wrap() -> None:
    assert is_odd_width(DataType("uint4"))
    assert not is_odd_width(DataType("int16"))
    assert wrap(np.int8(9), DataType("int4")) == -7
    np.testing.assert_array_equal(wrap(np.array([17], "uint8"), DataType("uint4")), [1])
    assert cast(np.int32(9), DataType("int4")) == -7


def test_extremes_take_the_first_nan() -> None:
    least = binary_rule("tir.Min", DataType("float32"))
    assert np.isnan(least(np.float32("nan"), np.float32(1)))
    assert least(np.float32(1), np.float32("nan")) != least(np.float32(1), np.float32(1))
    np.testing.assert_array_equal(least(np.array([1, 5]), np.array([2, 3])), [1, 3])


def test_division_by_zero() -> None:
    rule = binary_rule("tir.FloorDiv", DataType("int32"))
    with pytest.raises(DivisionByZero):
        rule(np.array([1, 2]), np.array([1, 0]))


def test_vscale_is_the_machines() -> None:
    vector = tir.Ramp(0, 1, tir.vscale() * 4)
    assert len(tir.interp.evaluate(vector)) == 4
    with tir.interp.vscale(4):
        assert len(tir.interp.evaluate(vector)) == 16
        assert tir.interp.evaluate(tir.vscale()) == 4
    assert tir.interp.evaluate(tir.vscale()) == 1
    with pytest.raises(ValueError, match="legal: 1, 2, 4"), tir.interp.vscale(3):
        pass
