from __future__ import annotations

import math

import numpy as np
import pytest

from tvm import tir
from tvm.support.dtype import DataType
from tvm.tir import interp
from tvm.tir.interp.intrinsics import extern_rule

pytestmark = pytest.mark.pure

REFERENCE = {
    "exp": np.exp, "exp2": np.exp2, "tanh": np.tanh, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "atanh": np.arctanh, "sqrt": np.sqrt, "erf": math.erf,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "exp10": lambda x: 10.0**x,
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float16", 2e-3)])
def test_functions_of_one_operand(name: str, dtype: str, tolerance: float) -> None:
    x = tir.Var("x", dtype)
    got = interp.evaluate(getattr(tir, name)(x), {x: 0.625})
    assert got == pytest.approx(float(REFERENCE[name](0.625)), rel=tolerance)


def test_functions_of_two_operands() -> None:
    x, y = tir.Var("x", "float32"), tir.Var("y", "float32")
    at = {x: 2.0, y: -3.0}
    assert interp.evaluate(tir.pow(x, y), at) == 0.125
    assert interp.evaluate(tir.atan2(x, y), at) == pytest.approx(math.atan2(2, -3))
    assert interp.evaluate(tir.fmod(y, x), at) == -1.0
    assert interp.evaluate(tir.copysign(x, y), at) == -2.0
    assert interp.evaluate(tir.hypot(x, y), at) == pytest.approx(math.hypot(2, 3))
    assert interp.evaluate(tir.fma(x, y, y), at) == -9.0


def test_bits() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    at = {x: -8, y: 2}
    assert interp.evaluate(x & y, at) == -8 & 2
    assert interp.evaluate(x | y, at) == -8 | 2
    assert interp.evaluate(x ^ y, at) == -8 ^ 2
    assert interp.evaluate(~x, at) == 7
    assert interp.evaluate(x << y, at) == -32
    assert interp.evaluate(x >> y, at) == -2
    assert interp.evaluate(tir.popcount(y), at) == 1
    assert interp.evaluate(tir.clz(y), at) == 30
    assert interp.evaluate(tir.reinterpret("uint32", x), at) == 2**32 - 8


def test_fixed_point_product_rounds() -> None:
    x = tir.Var("x", "int32")
    half = tir.q_multiply_shift(x, tir.const(1 << 30, "int32"), 31, 0)
    assert [interp.evaluate(half, {x: v}) for v in (3, -3, 100)] == [2, -1, 50]


def test_classification() -> None:
    x = tir.Var("x", "float32")
    assert interp.evaluate(tir.isnan(x), {x: math.nan}) is True
    assert interp.evaluate(tir.isinf(x), {x: -math.inf}) is True
    assert interp.evaluate(tir.isfinite(x), {x: 1.0}) is True


def test_extern_names() -> None:
    rule = extern_rule("expf", DataType("float32"))
    assert rule is not None
    assert rule(DataType("float32"), np.float32(0)) == 1
    assert extern_rule("llvm.sqrt.f32", DataType("float32")) is not None
    assert extern_rule("launch_rocket", DataType("float32")) is None


def test_results_of_odd_widths_wrap() -> None:
    """numpy holds them in wider types, whose other bits mean nothing."""
    for dtype, value, expected in (
        ("uint5", lambda x: x << tir.IntImm("uint5", 4), [16, 0, 16]),
        ("uint24", lambda x: ~x, [2**24 - 2, 2**24 - 3, 2**24 - 4]),
        ("int13", lambda x: x << tir.IntImm("int13", 11), [2048, -4096, -2048]),
        ("int3", lambda x: tir.floordiv(tir.IntImm("int3", -4) + x - x, tir.IntImm("int3", -1)),
         [-4, -4, -4]),
    ):  # fmt: skip
        source, target = tir.decl_buffer((3,), "int32"), tir.decl_buffer((3,), "int32")
        i = tir.Var("i", "int32")
        made = tir.Cast("int32", value(tir.Cast(dtype, tir.BufferLoad(source, [i]))))
        body = tir.For(i, 0, 3, tir.ForKind.SERIAL, tir.BufferStore(target, made, [i]))
        params = [tir.Var("a", "handle"), tir.Var("b", "handle")]
        out = np.zeros(3, "int32")
        func = tir.PrimFunc(params, body, buffer_map=dict(zip(params, (source, target))))
        interp.run(func, np.arange(1, 4, dtype="int32"), out)
        assert out.tolist() == expected
