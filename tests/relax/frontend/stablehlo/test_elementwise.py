"""Operators that look at one element of each operand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .running import f, i, jax, same

jnp, lax = jax.numpy, jax.lax

UNARY = [
    "abs", "negative", "exp", "log1p", "expm1", "sin", "cos", "tan", "tanh", "sqrt", "ceil",
    "floor", "sign", "isfinite", "arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh",
    "cbrt", "square", "reciprocal", "rint", "isnan",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2",
    "equal", "less", "greater_equal", "remainder", "fmod", "floor_divide", "logaddexp",
    "hypot",
]  # fmt: skip
WHOLE = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
    "floor_divide", "remainder",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name: str) -> None:
    same(getattr(jnp, name), f(3, 4, lo=0.1, hi=0.9))


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name: str) -> None:
    same(getattr(jnp, name), f(3, 4, lo=0.1), f(3, 4, lo=0.1))


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name: str) -> None:
    same(getattr(jnp, name), i(3, 4, lo=-9, hi=9), i(3, 4, lo=1, hi=5))


CASES: dict[str, tuple[Any, ...]] = {
    "log": (jnp.log, f(3, lo=0.1)),
    "rsqrt": (lax.rsqrt, f(3, lo=0.1)),
    "logistic": (lax.logistic, f(3)),
    "erf": (lax.erf, f(5)),
    "erfc": (lax.erfc, f(5)),
    "round": (lambda x: lax.round(x), np.array([0.5, 1.5, -2.5, 0.3], "float32")),
    "expm1 small": (jnp.expm1, np.array([1e-06, -1e-06, 3, -3], "float32")),
    "shift logical": (lax.shift_right_logical, i(3, lo=-9), i(3, lo=1, hi=4)),
    "popcount": (lax.population_count, i(4, hi=99)),
    "clz": (lax.clz, i(4, hi=99)),
    "logical": (
        lambda a, b: jnp.logical_and(a > 0, b > 0) | ~(a < b) ^ (b > 0.5),
        f(3, 4),
        f(3, 4),
    ),
    "where": (lambda a, b: jnp.where(a > b, a, b), f(3, 4), f(3, 4)),
    "clip": (lambda a: jnp.clip(a, -0.2, 0.3), f(3, 4)),
    "astype": (
        lambda a: (
            a.astype(jnp.int32),
            a.astype(jnp.float16),
            (a > 0).astype(jnp.float32),
            a.astype(bool),
        ),
        f(3, 4) * 5,
    ),
    "softmax": (lambda x: jax.nn.softmax(x), f(3, 4)),
    "gelu": (lambda x: jax.nn.gelu(x), f(3, 4)),
    "gelu exact": (lambda x: jax.nn.gelu(x, approximate=False), f(3, 4)),
    "layernorm": (
        lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-05),
        f(3, 4),
    ),
    "one_hot": (lambda j: jax.nn.one_hot(j, 5), i(4)),
    "tri": (lambda x: jnp.tril(x), f(4, 4)),
    "bf16 const": (
        lambda x: (x.astype(jnp.bfloat16) * jnp.array([0.5, 2.0, -0.25], jnp.bfloat16)).astype(
            jnp.float32
        ),
        f(3),
    ),
    "f16": (lambda x: jnp.exp(x.astype(jnp.float16)), f(3)),
    "u8": (lambda x: x.astype(jnp.uint8) + jnp.uint8(250), i(3)),
    "big const": (lambda x: x + np.arange(100, dtype="float32"), f(100)),
    "nan": (lambda a: jnp.nan_to_num(a / 0.0), f(3)),
    "relu6": (jax.nn.relu6, f(4) * 9),
    "silu": (jax.nn.silu, f(4)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)
