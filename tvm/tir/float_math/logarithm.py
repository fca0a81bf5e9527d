"""log, log2, log10, log1p of float32: the exponent, and a polynomial of the mantissa."""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .exponential import LN2_HIGH, LN2_LOW, LOG2_E
from .steps import Steps

# log(1 + f) = f - f**2 / 2 + f**3 * Q(f) for 1 + f in [sqrt(1/2), sqrt(2)], error 0.01 ulp.
LOG_Q: Final = (
    0.3333331346511841, -0.25000008940696716, 0.2000211924314499, -0.1666799634695053,
    0.14219550788402557, -0.12405591458082199, 0.11888174712657928, -0.11675640940666199,
    0.06746601313352585,
)  # fmt: skip
SQRT_HALF_BITS: Final = 0x3F3504F3
SMALLEST_NORMAL: Final = 1.1754943508222875e-38
LOG10_E_HIGH: Final = 0.43359375
LOG10_E_LOW: Final = 0.0007007319032518276
LOG10_2_HIGH: Final = 0.30102539
LOG10_2_LOW: Final = 4.605038981e-6
LOG2_E_LOW: Final = 0.44269504088896340


def log(x: PrimExpr) -> PrimExpr:
    """The natural logarithm."""
    steps = Steps(x)
    x = steps.let("log_x", x)
    return steps.result(_at_the_edges(steps, x, log_steps(steps, x)))


def log_steps(steps: Steps, x: PrimExpr) -> PrimExpr:
    """log of a positive finite number, as steps of a longer computation."""
    k, f = _split(steps, x)
    tail = _log_tail(steps, f)
    return k * steps.const(LN2_HIGH) + (f + (tail + k * steps.const(LN2_LOW)))


def log2(x: PrimExpr) -> PrimExpr:
    """The logarithm to base 2."""
    steps = Steps(x)
    x = steps.let("log_x", x)
    k, f = _split(steps, x)
    tail = steps.let("log_tail", _log_tail(steps, f))
    # log2(e) = 1 + LOG2_E_LOW keeps the leading term free of rounding
    part = tail * steps.const(LOG2_E) + f * steps.const(LOG2_E_LOW)
    return steps.result(_at_the_edges(steps, x, (part + f) + k))


def log10(x: PrimExpr) -> PrimExpr:
    """The logarithm to base 10."""
    steps = Steps(x)
    x = steps.let("log_x", x)
    k, f = _split(steps, x)
    tail = steps.let("log_tail", _log_tail(steps, f))
    low = (f + tail) * steps.const(LOG10_E_LOW) + tail * steps.const(LOG10_E_HIGH)
    value = low + k * steps.const(LOG10_2_LOW) + f * steps.const(LOG10_E_HIGH)
    return steps.result(_at_the_edges(steps, x, value + k * steps.const(LOG10_2_HIGH)))


def log1p(x: PrimExpr) -> PrimExpr:
    """log(1 + x), exact near zero: what 1 + x lost in rounding is put back."""
    steps = Steps(x)
    x = steps.let("log1p_x", x)
    u = steps.let("log1p_u", x + steps.const(1.0))
    lost = (x - (u - steps.const(1.0))) / u
    finite = steps.select(u < steps.const(math.inf), lost, steps.const(0.0))
    sum_of_both = _at_the_edges(steps, u, log_steps(steps, u)) + finite
    nothing_left = arith.equal(x, steps.const(-1.0))
    value = steps.select(nothing_left, steps.const(-math.inf), sum_of_both)
    tiny = steps.absolute(x) < steps.const(2.0**-25)
    return steps.result(steps.select(tiny, x, value))


def _split(steps: Steps, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """k and f with x = 2**k * (1 + f), where 1 + f lies around 1."""
    small = steps.let("log_small", x < steps.const(SMALLEST_NORMAL))
    normal = steps.select(small, x * steps.const(2.0**23), x)
    bits = steps.let("log_bits", steps.bits(normal))
    above = bits - steps.const(SQRT_HALF_BITS, "int32")
    shift = steps.const(23, "int32")
    k = steps.let("log_k", arith.shift_right(above, shift))
    mantissa = steps.from_bits(bits - arith.shift_left(k, shift))
    moved = steps.select(small, k - steps.const(23, "int32"), k)
    f = steps.let("log_f", mantissa - steps.const(1.0))
    return steps.let("log_kf", arith.cast(moved, steps.typed("float32"))), f


def _log_tail(steps: Steps, f: PrimExpr) -> PrimExpr:
    """log(1 + f) - f."""
    square = steps.let("log_square", f * f)
    return (steps.polynomial(f, LOG_Q) * f - steps.const(0.5)) * square


def _at_the_edges(steps: Steps, x: PrimExpr, value: PrimExpr) -> PrimExpr:
    """-inf at zero, NaN below, inf at inf, NaN for NaN."""
    value = steps.select(x < steps.const(math.inf), value, x)  # inf and NaN stay
    at_zero = arith.equal(x, steps.const(0.0))
    below = x < steps.const(0.0)
    value = steps.select(at_zero, steps.const(-math.inf), value)
    return steps.select(below, steps.const(math.nan), value)
