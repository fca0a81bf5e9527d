"""hypot: the length of a vector, without overflow on the way."""

from __future__ import annotations

import math

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .steps import DOUBLE, Steps


def hypot(steps: Steps, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """sqrt(x * x + y * y); infinite if either is, even beside NaN."""
    x, y = steps.let("hypot_x", steps.absolute(x)), steps.let("hypot_y", steps.absolute(y))
    value = _scaled(steps, x, y) if steps.wide else _in_float64(steps, x, y)
    inf = steps.const(math.inf)
    infinite = arith.logical_or(arith.equal(x, inf), arith.equal(y, inf))
    return steps.result(steps.select(infinite, inf, value))


def _in_float64(steps: Steps, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """Squares of float32 neither overflow nor vanish in float64."""
    wide = steps.typed(DOUBLE.element)
    a = steps.let("hypot_a", arith.cast(x, wide))
    b = steps.let("hypot_b", arith.cast(y, wide))
    return arith.cast(steps.root(a * a + b * b), steps.dtype)


def _scaled(steps: Steps, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """With the numbers moved by a power of two to where squares are safe, and back."""
    swap = x < y
    a = steps.let("hypot_a", steps.select(swap, y, x))
    b = steps.let("hypot_b", steps.select(swap, x, y))
    huge = steps.let("hypot_huge", a > steps.const(2.0**500))
    tiny = steps.let("hypot_tiny", a < steps.const(2.0**-400))
    one = steps.const(1.0)

    def by_size(if_huge: float, if_tiny: float) -> PrimExpr:
        other = steps.select(tiny, steps.const(if_tiny), one)
        return steps.select(huge, steps.const(if_huge), other)

    factor = steps.let("hypot_factor", by_size(2.0**-600, 2.0**600))
    a = steps.let("hypot_sa", a * factor)
    b = steps.let("hypot_sb", b * factor)
    return steps.root(steps.fma(a, a, b * b)) * by_size(2.0**600, 2.0**-600)
