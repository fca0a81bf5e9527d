"""x**y as 2**(y * log2(x)), where the logarithm has enough digits for the product."""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith, builtin
from tvm.tir.op.math import nearbyint, sqrt, trunc

from .exponential import exp2_part, nearest_power, scaled
from .logarithm import split
from .steps import Steps

# log2(1 + f) = f * Q(f) for 1 + f in [sqrt(1/2), sqrt(2)], relative error 2e-11.
LOG2_Q: Final = (
    1.4426950408687058, -0.7213475208688026, 0.4808983613951059, -0.36067367481859,
    0.2885372935047595, -0.24045316614702483, 0.20617535859839153, -0.18030058737527024,
    0.158769805114021, -0.14315661852738984, 0.14474855532043185, -0.14283866287174268,
    0.07736948012782653,
)  # fmt: skip
# 2**r on [-1/2, 1/2], relative error 4e-11.
EXP2_Q: Final = (
    0.9999999999616821, 0.6931471807284527, 0.24022651198156603, 0.05550410353429368,
    0.009618027253773954, 0.0013333922578596653, 0.00015469291113473575, 1.5201918126888228e-05,
)  # fmt: skip
# log(1 + f) = 2 s + 2/3 s**3 + s**5 * Q(s**2) with s = f / (2 + f), error 1e-20.
LOG_Q: Final = (
    0.4000000000000229, 0.28571428570082885, 0.22222222523044705, 0.18181784082458613,
    0.1538677093400909, 0.13256490415678804, 0.1319945821740886,
)  # fmt: skip
TWO_THIRDS: Final = (0.6666666666666666, 3.700743415417188e-17)
LOG2_E: Final = (1.4426950408889634, 2.0355273740931033e-17)
SQRT_HALF_BITS: Final = 0x3F3504F3
SMALLEST_NORMAL: Final = 1.1754943508222875e-38


def power(steps: Steps, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """x**y; a negative x needs a whole y."""
    found = _in_few_steps(steps, x, y)
    if found is not None:
        return found
    x, y = steps.let("pow_x", x), steps.let("pow_y", y)
    a = steps.let("pow_a", steps.absolute(x))
    if steps.wide:
        found = _double_power(steps, a, y)
    else:
        exponent = arith.cast(y, steps.typed("float64")) * _log2(steps, a)
        found = arith.cast(_exp2(steps, exponent), steps.dtype)
    return steps.result(_special(steps, x, y, a, steps.let("pow_value", found)))


def _in_few_steps(steps: Steps, x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    """x to the power of a literal that takes few exact steps, rounded once; None for others.

    The cube of a float32 is made in float64, which has room for the square.
    """
    exponent = arith.literal(y)
    found: PrimExpr
    x = steps.let("pow_x", x)
    if exponent == 1:
        found = x
    elif exponent == 2:
        found = x * x
    elif exponent == -1:
        found = steps.const(1.0) / x
    elif exponent == 0.5:
        # of -0 it is 0, and of minus infinity infinity: neither is the square root
        zero, far = steps.const(0.0), steps.const(math.inf)
        root = steps.select(arith.equal(x, zero), zero, sqrt(x))
        found = steps.select(arith.equal(x, -far), far, root)
    elif exponent == 3 and not steps.wide:
        wide = steps.let("pow_wide", arith.cast(x, steps.typed("float64")))
        found = arith.cast(wide * wide * wide, steps.dtype)
    else:
        return None
    return steps.result(found)


def _log2(steps: Steps, a: PrimExpr) -> PrimExpr:
    """log2 of a positive float32, in float64."""
    small = steps.let("pow_small", a < steps.const(SMALLEST_NORMAL))
    bits = steps.let("pow_bits", steps.bits(steps.select(small, a * steps.const(2.0**23), a)))
    shift = steps.const(23, "int32")
    k = steps.let("pow_k", arith.shift_right(bits - steps.const(SQRT_HALF_BITS, "int32"), shift))
    mantissa = steps.from_bits(bits - arith.shift_left(k, shift))
    f = steps.let("pow_f", arith.cast(mantissa - steps.const(1.0), steps.typed("float64")))
    whole = steps.select(small, k - steps.const(23, "int32"), k)
    return steps.polynomial(f, LOG2_Q) * f + arith.cast(whole, steps.typed("float64"))


def _exp2(steps: Steps, x: PrimExpr) -> PrimExpr:
    """2**x in float64, for x that may be anything; beyond the range of float32 only its side."""
    wide = "float64"
    limited = arith.max_of(arith.min_of(x, steps.const(300.0, wide)), steps.const(-300.0, wide))
    x = steps.let("pow_e", limited)
    n = steps.let("pow_n", nearbyint(x))
    p = steps.polynomial(x - n, EXP2_Q)
    biased = arith.cast(n, steps.typed("int64")) + steps.const(1023, "int64")
    scale = arith.shift_left(biased, steps.const(52, "int64"))
    return p * builtin.reinterpret(steps.typed(wide), scale)


class _Pairs:
    """Numbers as sums of two floats, of which the second is what the first lost in rounding."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def sum(self, a: PrimExpr, b: PrimExpr, low: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """a + b + low, where |a| >= |b| or a is zero."""
        high = self._steps.let("pow_sum", a + b)
        return high, self._steps.let("pow_sum_low", (a - high) + b + low)

    def product(
        self, a: tuple[PrimExpr, PrimExpr], b: tuple[PrimExpr, PrimExpr]
    ) -> tuple[PrimExpr, PrimExpr]:
        """a * b of two pairs."""
        high = self._steps.let("pow_product", a[0] * b[0])
        low = self._steps.fma(a[0], b[0], -high) + (a[0] * b[1] + a[1] * b[0])
        return high, self._steps.let("pow_product_low", low)


def _double_power(steps: Steps, a: PrimExpr, y: PrimExpr) -> PrimExpr:
    """a**y of float64, the logarithm in pairs of float64."""
    pairs = _Pairs(steps)
    zero, two = steps.const(0.0), steps.const(2.0)
    k, f = split(steps, a)
    below = steps.let("pow_below", f + two)
    s_high = steps.let("pow_s", f / below)
    lost = steps.fma(-s_high, below, f) - s_high * (f - (below - two))
    s = s_high, steps.let("pow_s_low", lost / below)
    t = pairs.product(s, s)
    rest = steps.let("pow_rest", t[0] * steps.polynomial(t[0], LOG_Q))
    inner = pairs.sum(steps.const(TWO_THIRDS[0]), rest, steps.const(TWO_THIRDS[1]))
    tail = pairs.product(t, inner)
    natural = pairs.product(s, pairs.sum(two, *tail))
    to_base_2 = steps.const(LOG2_E[0]), steps.const(LOG2_E[1])
    fraction = pairs.product(natural, to_base_2)
    logarithm = pairs.sum(k, *fraction)
    e = pairs.product(logarithm, (y, zero))
    # the limits keep the parts apart; beyond them the result is zero or infinite
    high = steps.let("pow_e", steps.clamp(e[0], -1100.0, 1100.0))
    low = steps.select(steps.absolute(high) < steps.const(1100.0), e[1], zero)
    power = nearest_power(steps, high, 1.0)
    return scaled(steps, exp2_part(steps, (high - power.n) + low), power)


def _special(steps: Steps, x: PrimExpr, y: PrimExpr, a: PrimExpr, value: PrimExpr) -> PrimExpr:
    """Zeros, infinities, negative bases and NaN, in the order of IEEE 754 (section 9.2.1)."""
    zero, one, inf = steps.const(0.0), steps.const(1.0), steps.const(math.inf)
    half = steps.let("pow_half", y * steps.const(0.5))
    y_whole = steps.let("pow_y_whole", arith.equal(trunc(y), y))
    y_odd = steps.let("pow_y_odd", arith.logical_and(y_whole, arith.not_equal(trunc(half), half)))
    # a base of zero or infinity: zero or infinity, depending on the sign of y
    grows = arith.equal(a > one, y > zero)
    extreme = steps.let("pow_extreme", steps.select(grows, inf, zero))
    edge = arith.logical_or(arith.equal(a, zero), arith.equal(a, inf))
    value = steps.select(edge, extreme, value)
    # an infinite y: what |x| does when multiplied for ever
    y_infinite = arith.equal(steps.absolute(y), inf)
    at_one = steps.select(arith.equal(a, one), one, extreme)
    value = steps.let("pow_sized", steps.select(y_infinite, at_one, value))
    negative = steps.bits(x) < steps.whole(0)
    value = steps.select(arith.logical_and(negative, y_odd), -value, value)
    below = arith.logical_and(x < zero, arith.logical_not(y_whole))
    refused = arith.logical_and(arith.logical_and(below, a < inf), arith.logical_not(y_infinite))
    value = steps.select(refused, steps.const(math.nan), value)
    nan = arith.logical_or(arith.not_equal(x, x), arith.not_equal(y, y))
    value = steps.select(nan, steps.const(math.nan), value)
    sure = arith.logical_or(arith.equal(x, one), arith.equal(y, zero))
    return steps.select(sure, one, value)
