from __future__ import annotations

import math

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.tir import interp

pytestmark = pytest.mark.pure

UNARY = {
    "identity": lambda x: x, "negative": np.negative, "exp": np.exp, "tanh": np.tanh,
    "tan": np.tan, "cos": np.cos, "cosh": np.cosh, "sin": np.sin, "sinh": np.sinh,
    "acos": np.arccos, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "abs": np.abs,
    "round": np.rint, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "sign": np.sign, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=["float32"]),
}  # fmt: skip
POSITIVE = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "acosh": lambda x: np.arccosh(x + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str) -> None:
    x = rng().uniform(-0.9, 0.9, (3, 4)).astype("float32")
    close(evaluate(getattr(topi, name), x), UNARY[name](x), 1e-5, 1e-6)


@pytest.mark.parametrize("name", POSITIVE)
def test_functions_of_positive_numbers(name: str) -> None:
    x = rng().uniform(0.1, 3, (3, 4)).astype("float32")
    shift = (lambda a: topi.acosh(a + 1.0)) if name == "acosh" else getattr(topi, name)
    close(evaluate(shift, x), POSITIVE[name](x), 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["exp", "tanh", "erf"])
def test_fast_functions(name: str) -> None:
    x = np.linspace(-12, 12, 97, dtype="float32")
    wanted = {**UNARY, "exp": np.exp}[name](x)
    close(evaluate(getattr(topi, f"fast_{name}"), x), wanted, 2e-5, 2e-6)
    half = x.astype("float16")
    assert evaluate(getattr(topi, f"fast_{name}"), half).dtype == "float16"


def test_clip() -> None:
    x = floats(5, 5)
    close(evaluate(lambda a: topi.clip(a, -0.5, 0.5), x), np.clip(x, -0.5, 0.5))
    i = rng().integers(-9, 9, (9,)).astype("int8")
    close(evaluate(lambda a: topi.clip(a, -1000.0, 3.0), i), np.clip(i, -128, 3))
    low = np.array(-0.25, "float32")
    close(evaluate(lambda a, b: topi.clip(a, b, 9.0), x, low), np.clip(x, -0.25, 9))


def test_casts() -> None:
    x = floats(4, 4) * 4
    close(evaluate(lambda a: topi.cast(a, "int32"), x), x.astype("int32"))
    bits = evaluate(lambda a: topi.reinterpret(a, "int32"), x)
    np.testing.assert_array_equal(bits, x.view("int32"))
    assert topi.cast(te.var("n"), "float32").dtype == "float32"


def test_shifts_by_numbers() -> None:
    i = rng().integers(0, 99, (9,)).astype("int32")
    close(evaluate(lambda a: topi.math.left_shift(a, 2), i), i << 2)
    close(evaluate(lambda a: topi.math.right_shift(a, 2), i), i >> 2)


def test_fixed_point() -> None:
    i = np.array([7, -7, 1000, -1001], "int32")
    half = evaluate(lambda a: topi.fixed_point_multiply(a, 1 << 30, 0), i)
    np.testing.assert_array_equal(half, np.floor(i / 2 + 0.5))
    scale = np.array([1 << 30, 1 << 29], "int32")
    zero = np.zeros(2, "int32")
    rows = i.reshape(2, 2)
    got = evaluate(
        lambda a, s, left, right: topi.fixed_point_multiply_per_axis(a, s, left, right, 0, 0, [1]),
        rows, scale, zero, zero,
    )  # fmt: skip
    np.testing.assert_array_equal(got, np.floor(rows * [0.5, 0.25] + 0.5))


def test_ceil_log2() -> None:
    n = te.var("n")
    for value in (1, 2, 3, 8, 9, 1000):
        wanted = math.ceil(math.log2(value))
        assert interp.evaluate(topi.ceil_log2(n), {n: value}) == wanted
        assert interp.evaluate(topi.ceil_log2(te.const(value))) == wanted


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8"])
def test_negative_wraps(dtype: str) -> None:
    x = np.array([0, 1, 5, 100], dtype)
    np.testing.assert_array_equal(evaluate(topi.negative, x), np.negative(x))


def test_fast_functions_are_written_for_float32() -> None:
    x = te.placeholder((4,), "float32", name="x")
    text = te.create_prim_func([x, topi.fast_tanh(x)]).script()
    assert "T_minimum[v_ax0] = T.min(T.float32(9.0), x[v_ax0])" in text
    assert "T_maximum[v_ax0] = T.max(T.float32(-9.0), T_minimum[v_ax0])" in text
    text = te.create_prim_func([x, topi.fast_exp(x)]).script()
    assert "T.float32(88.376266479492188)" in text
    assert "+ T.float32(127.0)), 23)" in text
    wide = te.placeholder((4,), "float64", name="x")
    assert topi.fast_exp(wide).op.name == "T_fast_exp"
