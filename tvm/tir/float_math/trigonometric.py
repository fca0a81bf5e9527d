"""sin, cos, tan, the argument reduced in float64.

For |x| up to FAR, the product of n and the leading part of pi/2 leaves |x| exactly, and the other
parts are too small to need more than one rounding each. Beyond, which is rare, whole turns are
taken off first: a float32 times each of several parts of 1/(2 pi) is exact in float64, and so is
what is left of it without whole numbers; float64 is left to the C library.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.op import Op
from tvm.tir.expr import Call
from tvm.tir.op import arith
from tvm.tir.op.builtin import reinterpret
from tvm.tir.op.math import abs as fabs
from tvm.tir.op.math import nearbyint

from .steps import DOUBLE, Steps

# On [-1, 1] for float32, and on [-0.8, 0.8] for float64; errors 0.04 ulp.
# sin(r) = r + r**3 * Q(r**2);  cos(r) = 1 - r**2 / 2 + r**4 * Q(r**2)
SIN_Q: Final = {
    32: (
        -0.1666666716337204, 0.008333316072821617, -0.00019836115825455636, 2.694810063985642e-06,
    ),
    64: (
        -0.16666666666666624, 0.008333333333320224, -0.00019841269828003633,
        2.7557313051181044e-06, -2.5050655847775977e-08, 1.5890773161563365e-10,
    ),
}  # fmt: skip
COS_Q: Final = {
    32: (
        0.0416666679084301, -0.0013888864777982235, 2.4795903300400823e-05,
        -2.698391483590967e-07,
    ),
    64: (
        0.04166666666666658, -0.0013888888888871158, 2.4801587287574215e-05,
        -2.755731378741357e-07, 2.0875644896421473e-09, -1.1355519717567609e-11,
    ),
}  # fmt: skip
TWO_OVER_PI: Final = 0.6366197723675814
TWO_PI: Final = 6.283185307179586
FAR: Final = 2.0**50
# 1 / (2 pi) in parts of 28 bits, to 2**-198
TURNS: Final = (
    0.15915494225919247, 8.327028684640414e-10, 5.69002511952534e-19, 6.3170650472507054e-27,
    4.170716914254881e-35, 2.8971783207221377e-44, 1.763489793601074e-52,
)  # fmt: skip
PI_HALF: Final = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)


def sin(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The sine of x radians."""
    x = steps.let("trig_x", x)
    quadrant, s, c = _parts(steps, x)
    value = _of_quadrant(steps, quadrant, s, c)
    # keeps the sign of zero
    value = steps.select(arith.equal(x, steps.const(0.0)), x, value)
    return steps.result(_with_far(steps, "tir.sin", x, value))


def cos(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The cosine of x radians."""
    x = steps.let("trig_x", x)
    quadrant, s, c = _parts(steps, x)
    following = steps.let("trig_next", quadrant + steps.whole(1))
    return steps.result(_with_far(steps, "tir.cos", x, _of_quadrant(steps, following, s, c)))


def tan(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The tangent of x radians."""
    x = steps.let("trig_x", x)
    quadrant, s, c = _parts(steps, x)
    odd = arith.not_equal(quadrant & steps.whole(1), steps.whole(0))
    odd = steps.let("trig_odd", odd)
    value = steps.select(odd, -c, s) / steps.select(odd, s, c)
    value = steps.select(arith.equal(x, steps.const(0.0)), x, value)
    return steps.result(_with_far(steps, "tir.tan", x, value))


def _with_far(steps: Steps, name: str, x: PrimExpr, value: PrimExpr) -> PrimExpr:
    """`value`, and for float64 beyond FAR what the C library says."""
    if not (steps.wide and steps.can_branch):
        return value
    value = steps.let("trig_near", value)
    far = steps.let("trig_far", steps.absolute(x) > steps.const(FAR))
    return steps.rarely(far, Call(x.dtype, Op.get(name), (x,)), value)


def _without_turns(steps: Steps, wide: PrimExpr) -> PrimExpr:
    """A float32, in float64, less whole turns where it is beyond FAR."""
    double = DOUBLE.element
    far = steps.let("trig_far", fabs(wide) > steps.const(FAR, double))
    left: PrimExpr = steps.const(0.0, double)
    # the values are needed only on the rare side, so they have no names of their own outside
    inner = Steps(wide.dtype)
    for part in TURNS:
        turns = inner.let("trig_turns", wide * steps.const(part, double))
        left = left + (turns - nearbyint(turns))
    total = inner.let("trig_total", left)
    reduced = inner.result((total - nearbyint(total)) * steps.const(TWO_PI, double))
    return steps.let("trig_wide", steps.rarely(far, reduced, wide))


def _parts(steps: Steps, x: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """x = quadrant * pi / 2 + r: the quadrant (in its two low bits), sin(r) and cos(r)."""
    double = DOUBLE.element
    wide: PrimExpr = steps.let("trig_wide", arith.cast(x, steps.typed(double)))
    if steps.can_branch and not steps.wide:
        wide = _without_turns(steps, wide)
    magic = steps.const(DOUBLE.magic, double)
    turns = wide * steps.const(TWO_OVER_PI, double) + magic
    shifted = steps.let("trig_turns", turns)
    n = steps.let("trig_n", shifted - magic)
    r = wide
    for part in PI_HALF if steps.wide else PI_HALF[:2]:
        r = steps.fma(n, steps.const(-part, double), r)
    r = steps.let("trig_r", arith.cast(r, steps.dtype))
    whole = steps.typed(DOUBLE.integer)
    low = arith.cast(reinterpret(whole, shifted), steps.typed(steps.form.integer))
    quadrant = steps.let("trig_quadrant", low)
    t = steps.let("trig_t", r * r)
    s = steps.let("trig_s", r + r * t * steps.polynomial(t, SIN_Q[steps.form.bits]))
    half = steps.const(1.0) - t * steps.const(0.5)
    c = steps.let("trig_c", half + t * t * steps.polynomial(t, COS_Q[steps.form.bits]))
    return quadrant, s, c


def _of_quadrant(steps: Steps, quadrant: PrimExpr, s: PrimExpr, c: PrimExpr) -> PrimExpr:
    """sin(quadrant * pi / 2 + r)."""
    zero, one, two = (steps.whole(i) for i in (0, 1, 2))
    value = steps.let("trig_value", steps.select(arith.equal(quadrant & one, zero), s, c))
    return steps.select(arith.equal(quadrant & two, zero), value, -value)
