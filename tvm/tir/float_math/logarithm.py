"""log, log2, log10, log1p: the exponent, and a polynomial of the mantissa."""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .exponential import LN2, LOG2_E
from .steps import Steps

# log(1 + f) = f - f**2 / 2 + f**3 * Q(f) for 1 + f in [sqrt(1/2), sqrt(2)], error 0.01 ulp.
LOG_Q_SINGLE: Final = (
    0.3333331346511841, -0.25000008940696716, 0.2000211924314499, -0.1666799634695053,
    0.14219550788402557, -0.12405591458082199, 0.11888174712657928, -0.11675640940666199,
    0.06746601313352585,
)  # fmt: skip
# log(1 + f) = 2 s + s**3 * Q(s**2) with s = f / (2 + f), error 0.01 ulp.
LOG_Q_DOUBLE: Final = (
    0.6666666666666735, 0.3999999999940707, 0.28571428744246785, 0.2222219836646949,
    0.18183575847445516, 0.15313736925085145, 0.14799267573029615,
)  # fmt: skip
SQRT_HALF_BITS: Final = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}
# Constants in two parts, of which the first has few bits.
LOG10_E: Final = {
    32: (0.43359375, 0.0007007319032518276), 64: (0.434294480830431, 1.0728208431540585e-09),
}  # fmt: skip
LOG10_2: Final = {
    32: (0.30102539, 4.605038981e-6), 64: (0.3010299956658855, -1.9043128467164274e-12),
}  # fmt: skip
LOG2_E_LOW: Final = 0.4426950408889634


def log(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The natural logarithm."""
    x = steps.let("log_x", x)
    return steps.result(at_the_edges(steps, x, log_steps(steps, x)))


def log_steps(steps: Steps, x: PrimExpr) -> PrimExpr:
    """log of a positive finite number, as steps of a longer computation."""
    high, low = LN2[steps.form.bits]
    k, f = split(steps, x)
    return k * steps.const(high) + (f + (log_tail(steps, f) + k * steps.const(low)))


def log2(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The logarithm to base 2."""
    x = steps.let("log_x", x)
    k, f = split(steps, x)
    tail = steps.let("log_tail", log_tail(steps, f))
    # log2(e) = 1 + LOG2_E_LOW keeps the leading term free of rounding
    part = tail * steps.const(LOG2_E) + f * steps.const(LOG2_E_LOW)
    return steps.result(at_the_edges(steps, x, (part + f) + k))


def log10(steps: Steps, x: PrimExpr) -> PrimExpr:
    """The logarithm to base 10."""
    e_high, e_low = LOG10_E[steps.form.bits]
    two_high, two_low = LOG10_2[steps.form.bits]
    x = steps.let("log_x", x)
    k, f = split(steps, x)
    tail = steps.let("log_tail", log_tail(steps, f))
    low = (f + tail) * steps.const(e_low) + tail * steps.const(e_high)
    value = low + k * steps.const(two_low) + f * steps.const(e_high)
    return steps.result(at_the_edges(steps, x, value + k * steps.const(two_high)))


def log1p(steps: Steps, x: PrimExpr) -> PrimExpr:
    """log(1 + x), exact near zero."""
    x = steps.let("log1p_x", x)
    u, lost = one_more(steps, x)
    sum_of_both = at_the_edges(steps, u, log_steps(steps, u)) + lost
    nothing_left = arith.equal(x, steps.const(-1.0))
    value = steps.select(nothing_left, steps.const(-math.inf), sum_of_both)
    # below, x is its own logarithm; this also keeps the sign of zero
    tiny = steps.absolute(x) < steps.const(2.0 ** -(steps.form.mantissa + 2))
    return steps.result(steps.select(tiny, x, value))


def one_more(steps: Steps, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """1 + x, and what its logarithm lacks because 1 + x was rounded."""
    u = steps.let("log1p_u", x + steps.const(1.0))
    lost = (x - (u - steps.const(1.0))) / u
    return u, steps.select(u < steps.const(math.inf), lost, steps.const(0.0))


def split(steps: Steps, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """k and f with x = 2**k * (1 + f), where 1 + f lies around 1."""
    form = steps.form
    small = steps.let("log_small", x < steps.const(form.smallest_normal))
    normal = steps.select(small, x * steps.const(2.0**form.mantissa), x)
    bits = steps.let("log_bits", steps.bits(normal))
    above = bits - steps.whole(SQRT_HALF_BITS[form.bits])
    shift = steps.whole(form.mantissa)
    k = steps.let("log_k", arith.shift_right(above, shift))
    mantissa = steps.from_bits(bits - arith.shift_left(k, shift))
    moved = steps.select(small, k - shift, k)
    f = steps.let("log_f", mantissa - steps.const(1.0))
    return steps.let("log_kf", _as_float(steps, moved)), f


def _as_float(steps: Steps, k: PrimExpr) -> PrimExpr:
    """A small integer as a float."""
    if not steps.wide:
        return arith.cast(k, steps.dtype)
    # few CPUs convert 64-bit integers in vectors
    form = steps.form
    return steps.from_bits(k + steps.whole(form.magic_bits)) - steps.const(form.magic)


def log_tail(steps: Steps, f: PrimExpr) -> PrimExpr:
    """log(1 + f) - f."""
    if not steps.wide:
        square = steps.let("log_square", f * f)
        return (steps.polynomial(f, LOG_Q_SINGLE) * f - steps.const(0.5)) * square
    s = steps.let("log_s", f / (f + steps.const(2.0)))
    square = steps.let("log_square", s * s)
    return s * (square * steps.polynomial(square, LOG_Q_DOUBLE) - f)


def at_the_edges(steps: Steps, x: PrimExpr, value: PrimExpr) -> PrimExpr:
    """-inf at zero, NaN below, inf at inf, NaN for NaN."""
    value = steps.select(x < steps.const(math.inf), value, x)  # inf and NaN stay
    at_zero = arith.equal(x, steps.const(0.0))
    below = x < steps.const(0.0)
    value = steps.select(at_zero, steps.const(-math.inf), value)
    return steps.select(below, steps.const(math.nan), value)
