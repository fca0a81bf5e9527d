"""Math operators: types, folding, limits."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import tir

pytestmark = pytest.mark.pure
F = tir.Var("f", "float32")
UNARY = ["exp", "tanh", "log", "sqrt", "rsqrt", "erf", "sigmoid", "sin", "cos", "atanh", "log1p"]


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_keep_the_type(name: str) -> None:
    call = getattr(tir, name)(tir.Var("v", "float16x8"))
    assert call.dtype == "float16x8"
    assert call.op.name == f"tir.{name}"
    assert getattr(tir, name)(tir.Var("i", "int32")).dtype == "float32"
    with pytest.raises(TypeError, match=f"tir.{name}: the operand is handle"):
        getattr(tir, name)(tir.Var("p", "handle"))


@pytest.mark.parametrize("value", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6, 3.0])
def test_rounding_folds_as_numpy(value: float) -> None:
    literal = tir.const(value, "float32")
    for name in ("floor", "ceil", "trunc", "round"):
        want = getattr(np, name)(np.float32(value))
        assert getattr(tir, name)(literal).value == want
    assert tir.nearbyint(literal).value == np.rint(np.float32(value))
    assert tir.floor(tir.Var("i", "int32")).dtype == "int32"


def test_abs() -> None:
    assert tir.abs(tir.const(-3)).value == 3
    assert tir.abs(tir.const(-128, "int8")).value == -128
    assert str(tir.abs(tir.Var("i", "int32"))) == "T.Select(i >= 0, i, 0 - i)"
    assert tir.abs(F).op.name == "tir.fabs"
    unsigned = tir.Var("u", "uint8")
    assert tir.abs(unsigned) is unsigned


def test_classification() -> None:
    assert tir.isnan(tir.const(math.nan, "float32")).value == 1
    assert tir.isinf(tir.const(math.inf, "float32")).value == 1
    assert tir.isfinite(tir.Var("i", "int32")).value == 1
    assert tir.isnan(F).dtype == "bool"
    inf = 'T.fabs(f) == T.float32("inf") and not T.isnan(f)'
    assert str(tir.isinf(F)) == inf
    assert str(tir.isfinite(F)) == f"not ({inf}) and not T.isnan(f)"
    half = tir.Var("h", "float16")
    assert str(tir.isinf(half)).endswith('T.float16("inf") and not T.isnan(T.Cast("float32", h))')
    other = tir.Var("b", "bfloat16")  # no type of IEEE: backends ask for its bits
    assert str(tir.isinf(other)) == "T.isinf(b)"
    with pytest.raises(TypeError, match=r"tir\.isinf: the operand is handle; legal: a number"):
        tir.isinf("text")


def test_binary_functions_match_types() -> None:
    assert tir.power(F, 2).dtype == "float32"
    assert tir.power(F, 1.0) is F
    assert (F**3).op.name == "tir.pow"
    assert tir.atan2(F, 1).dtype == "float32"
    assert tir.ldexp(F, tir.Var("i", "int32")).args[1].dtype == "int32"
    assert tir.op.fma(F, 2.0, 1).args[2].dtype == "float32"
    assert tir.logaddexp(F, F).dtype == "float32"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_limits(dtype: str) -> None:
    info = np.finfo(dtype)
    assert tir.max_value(dtype).value == float(info.max)
    assert tir.min_value(dtype).value == float(info.min)
    assert math.isinf(tir.infinity(dtype).value)


def test_integer_limits() -> None:
    assert tir.max_value("int8").value == 127
    assert tir.min_value("int64").value == -(2**63)
    assert tir.min_value("uint16").value == 0
    with pytest.raises(TypeError, match="Cannot decide infinity for type int32"):
        tir.infinity("int32")


def test_bit_counts() -> None:
    assert tir.clz(tir.Var("i", "int64")).dtype == "int32"
    assert tir.popcount(tir.Var("i", "int64")).dtype == "int64"
    assert tvm.tir.q_multiply_shift(1, 2, 31, 1).dtype == "int32"


SMALL_FLOATS = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
    "float4_e2m1fn", "bfloat16",
)  # fmt: skip


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_limits_of_small_floats_are_those_of_their_numpy_types(name: str) -> None:
    limits = ml_dtypes.finfo(name)
    assert tir.max_value(name).value == float(limits.max)
    assert tir.min_value(name).value == float(limits.min)
    literal = tir.const(1.0, name)
    assert literal.script() == f"T.{name}(1.0)"
    with pytest.raises(tvm.TVMError, match="exceeds m"):
        tir.const(float(limits.max) * 1.5, name)
