"""sin, cos, tan of float32, the argument reduced in float64.

The reduction is exact to float32 for |x| up to 2**50.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith
from tvm.tir.op.math import fma, nearbyint

from .steps import Steps

# On [-1, 1], a little more than the reduced range; errors 0.001 ulp.
# sin(r) = r + r**3 * Q(r**2);  cos(r) = 1 - r**2 / 2 + r**4 * Q(r**2)
SIN_Q: Final = (
    -0.1666666716337204, 0.008333316072821617, -0.00019836115825455636, 2.694810063985642e-06,
)  # fmt: skip
COS_Q: Final = (
    0.0416666679084301, -0.0013888864777982235, 2.4795903300400823e-05, -2.698391483590967e-07,
)  # fmt: skip
TWO_OVER_PI: Final = 0.6366197723675814
PI_HALF_HIGH: Final = 1.5707963267948966
PI_HALF_LOW: Final = 6.123233995736766e-17


def sin(x: PrimExpr) -> PrimExpr:
    """The sine of x radians."""
    steps = Steps(x)
    x = steps.let("trig_x", x)
    quadrant, s, c = _parts(steps, x)
    value = _of_quadrant(steps, quadrant, s, c)
    # keeps the sign of zero
    return steps.result(steps.select(arith.equal(x, steps.const(0.0)), x, value))


def cos(x: PrimExpr) -> PrimExpr:
    """The cosine of x radians."""
    steps = Steps(x)
    x = steps.let("trig_x", x)
    quadrant, s, c = _parts(steps, x)
    following = quadrant + steps.const(1, "int32")
    return steps.result(_of_quadrant(steps, steps.let("trig_next", following), s, c))


def tan(x: PrimExpr) -> PrimExpr:
    """The tangent of x radians."""
    steps = Steps(x)
    x = steps.let("trig_x", x)
    quadrant, s, c = _parts(steps, x)
    odd = arith.not_equal(quadrant & steps.const(1, "int32"), steps.const(0, "int32"))
    odd = steps.let("trig_odd", odd)
    value = steps.select(odd, -c, s) / steps.select(odd, s, c)
    return steps.result(steps.select(arith.equal(x, steps.const(0.0)), x, value))


def _parts(steps: Steps, x: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """x = quadrant * pi / 2 + r: the quadrant modulo 4, sin(r) and cos(r)."""
    wide = steps.let("trig_wide", arith.cast(x, steps.typed("float64")))
    turns = nearbyint(wide * steps.const(TWO_OVER_PI, "float64"))
    n = steps.let("trig_n", turns)
    r = fma(n, steps.const(-PI_HALF_HIGH, "float64"), wide)
    r = fma(n, steps.const(-PI_HALF_LOW, "float64"), r)
    r = steps.let("trig_r", arith.cast(r, steps.dtype))
    rest = n - nearbyint(n * steps.const(0.25, "float64")) * steps.const(4.0, "float64")
    quadrant = steps.let("trig_quadrant", arith.cast(rest, steps.typed("int32")))
    t = steps.let("trig_t", r * r)
    s = steps.let("trig_s", r + r * t * steps.polynomial(t, SIN_Q))
    half = steps.const(1.0) - t * steps.const(0.5)
    c = steps.let("trig_c", half + t * t * steps.polynomial(t, COS_Q))
    return quadrant, s, c


def _of_quadrant(steps: Steps, quadrant: PrimExpr, s: PrimExpr, c: PrimExpr) -> PrimExpr:
    """sin(quadrant * pi / 2 + r)."""
    zero, one, two = (steps.const(i, "int32") for i in (0, 1, 2))
    value = steps.let("trig_value", steps.select(arith.equal(quadrant & one, zero), s, c))
    return steps.select(arith.equal(quadrant & two, zero), value, -value)
