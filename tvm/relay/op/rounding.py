"""Rounding as Relay means it: halves go away from zero (TensorIR's own `round` takes the even)."""

from __future__ import annotations

from typing import Any

from tvm import te, tir

from .declare import topi


def rounded_away(x: Any) -> Any:
    """The nearest whole number of each element; integers are what they are."""
    if not str(x.dtype).startswith(("float", "bfloat")):
        return topi.identity(x)

    def rule(*i: Any) -> Any:
        value = x(*i)
        inner = te.trunc(value)
        one, zero, half = (tir.const(number, x.dtype) for number in (1.0, 0.0, 0.5))
        outward = inner + tir.Select(value < zero, -one, one)
        # an infinity less itself is no number, which is not beyond a half
        return tir.Select(te.abs(value - inner) >= half, outward, inner)

    return te.compute(x.shape, rule, "T_round", tag="elemwise")
