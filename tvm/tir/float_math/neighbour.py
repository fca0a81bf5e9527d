"""nextafter, by counting the bits of a float up or down."""

from __future__ import annotations

import math

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith, builtin

from .steps import Steps


def neighbour(steps: Steps, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """The next number of its own type after `x` on the way to `y`."""
    x, y = steps.let("next_x", x), steps.let("next_y", y)
    width = x.dtype.bits
    element = f"int{width}"
    whole = steps.typed(element)
    bits = steps.let("next_bits", builtin.reinterpret(whole, x))
    target = steps.let("next_target", builtin.reinterpret(whole, y))
    zero, one = steps.const(0, element), steps.const(1, element)
    # numbers are sign and size: away from zero is up on either side
    away = arith.equal(x < y, arith.greater_equal(bits, zero))
    moved = bits + steps.select(away, one, -one)
    smallest = (target & steps.const(-(1 << (width - 1)), element)) | one
    found = steps.select(arith.equal(x, steps.const(0.0)), smallest, moved)
    found = steps.select(arith.equal(x, y), target, found)
    nan = arith.logical_or(arith.not_equal(x, x), arith.not_equal(y, y))
    value = builtin.reinterpret(steps.dtype, found)
    return steps.result(steps.select(nan, steps.const(math.nan), value))


def narrow_neighbour(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """The next float16 or bfloat16 after `x` on the way to `y`.

    Wider arithmetic cannot answer: the next float32 rounds back to `x`.
    """
    return neighbour(Steps(x.dtype), x, y)
