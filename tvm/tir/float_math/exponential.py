"""exp, exp2, exp10: 2**n times a polynomial of what is left."""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.tir.expr import Max, Min
from tvm.tir.op import arith
from tvm.tir.op import math as math_ops

from .steps import Steps

# exp(r) = 1 + r + r**2 * Q(r) on [-ln(2)/2, ln(2)/2], relative error 0.05 ulp.
EXP_Q: Final = {
    32: (
        0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.008368710055947304,
        0.0013814610429108143,
    ),
    64: (
        0.5, 0.1666666666666666, 0.04166666666666613, 0.008333333333339058,
        0.0013888888889435002, 0.00019841269827758782, 2.4801585516927893e-05,
        2.75573171053177e-06, 2.7559526018301054e-07, 2.5079493651511903e-08,
        2.000074152848739e-09,
    ),
}  # fmt: skip
# 2**r = 1 + r * Q(r) on [-1/2, 1/2], relative error 0.03 ulp.
EXP2_Q: Final = {
    32: (
        0.6931471824645996, 0.24022647738456726, 0.055503323674201965, 0.00961843691766262,
        0.0013398875016719103, 0.00015353360504377633,
    ),
    64: (
        0.6931471805599453, 0.24022650695910072, 0.05550410866482169, 0.00961812910762833,
        0.001333355814639269, 0.00015403530393640793, 1.5252733854318546e-05,
        1.3215486594863684e-06, 1.0178051941837562e-07, 7.054974492113068e-09,
        4.456570534184075e-10, 2.5625407097850123e-11,
    ),
}  # fmt: skip
LOG2_E: Final = 1.4426950408889634
# In two parts; the first has few bits, so that its product with n is exact.
LN2: Final = {32: (0.693359375, -2.12194440e-4), 64: (0.6931471806019545, -4.2009150726810846e-11)}
LOG10_2: Final = {
    32: (0.30078125, 0.000248745663981195), 64: (0.3010299956658855, -1.9043128467164274e-12),
}  # fmt: skip
LOG2_10: Final = 3.321928094887362
LN_10: Final = 2.302585092994046
# Where the result is zero, and where it is infinite, with a little room.
EXP_RANGE: Final = {32: (-104.0, 90.0), 64: (-746.0, 711.0)}
# Between these, exp(x) is a normal number, and so is the power of two in it.
NORMAL_EXP: Final = {32: (-87.33654, 88.0), 64: (-708.396, 709.0)}
EXP2_RANGE: Final = {32: (-151.0, 129.0), 64: (-1076.0, 1025.0)}
EXP10_RANGE: Final = {32: (-46.0, 39.0), 64: (-324.5, 309.0)}


def exp(steps: Steps, x: PrimExpr) -> PrimExpr:
    """e**x."""
    return steps.result(exp_steps(steps, x))


def exp_steps(steps: Steps, x: PrimExpr, *, halved: bool = False) -> PrimExpr:
    """e**x, or half of it, as steps of a longer computation."""
    if not halved and _is_within(x, *NORMAL_EXP[steps.form.bits]):
        p, power = _exp_parts(steps, x)
        n = steps.bits(power.shifted) - steps.whole(steps.form.magic_bits)
        return p * _power_of_two(steps, n)
    x = steps.clamp(x, *EXP_RANGE[steps.form.bits])
    p, power = _exp_parts(steps, x)
    return scaled(steps, p, power, -1 if halved else 0)


def small_exp_steps(steps: Steps, x: PrimExpr) -> PrimExpr:
    """e**x for x that gives a normal number; any number for NaN."""
    p, (shifted, _) = _exp_parts(steps, x)
    # what is whole stands in the low bits, and is added to the exponent
    up = arith.shift_left(steps.bits(shifted), steps.whole(steps.form.mantissa))
    return steps.from_bits(steps.bits(p) + up)


def _is_within(x: PrimExpr, low: float, high: float) -> bool:
    """Whether max(min(_, b), a) keeps x in the interval."""
    if not isinstance(x, Max) or not isinstance(x.a, Min):
        return False
    least, most = arith.literal(x.b), arith.literal(x.a.b)
    return least is not None and most is not None and low <= least and most <= high


def _exp_parts(steps: Steps, x: PrimExpr) -> tuple[PrimExpr, Power]:
    """e**x / 2**n, and n."""
    high, low = LN2[steps.form.bits]
    x = steps.let("exp_x", x)
    power = nearest_power(steps, x, LOG2_E)
    n = power.n
    r = steps.let("exp_r", (x - n * steps.const(high)) - n * steps.const(low))
    q = steps.polynomial(r, EXP_Q[steps.form.bits])
    return q * (r * r) + r + steps.const(1.0), power


def exp2(steps: Steps, x: PrimExpr) -> PrimExpr:
    """2**x."""
    x = steps.let("exp_x", steps.clamp(x, *EXP2_RANGE[steps.form.bits]))
    power = nearest_power(steps, x, 1.0)
    return steps.result(scaled(steps, exp2_part(steps, x - power.n), power))


def exp2_part(steps: Steps, r: PrimExpr) -> PrimExpr:
    """2**r for r in [-1/2, 1/2]."""
    r = steps.let("exp_r", r)
    return steps.polynomial(r, EXP2_Q[steps.form.bits]) * r + steps.const(1.0)


def exp10(steps: Steps, x: PrimExpr) -> PrimExpr:
    """10**x."""
    high, low = LOG10_2[steps.form.bits]
    x = steps.let("exp_x", steps.clamp(x, *EXP10_RANGE[steps.form.bits]))
    power = nearest_power(steps, x, LOG2_10)
    remainder = (x - power.n * steps.const(high)) - power.n * steps.const(low)
    r = steps.let("exp_r", remainder * steps.const(LN_10))
    p = steps.polynomial(r, EXP_Q[steps.form.bits]) * (r * r) + r + steps.const(1.0)
    return steps.result(scaled(steps, p, power))


class Power(NamedTuple):
    """A whole number n."""

    shifted: PrimExpr  # a float whose low bits are n
    n: PrimExpr  # a float that is n


def nearest_power(steps: Steps, x: PrimExpr, scale: float) -> Power:
    """n = round(x * scale)."""
    product = x if scale == 1.0 else x * steps.const(scale)
    if steps.sums_move:
        n = steps.let("exp_n", math_ops.nearbyint(product))
        whole = arith.cast(n, steps.typed(steps.form.integer))
        bits = whole + steps.whole(steps.form.magic_bits)
        return Power(steps.let("exp_shifted", steps.from_bits(bits)), n)
    shifted = steps.let("exp_shifted", product + steps.const(steps.form.magic))
    return Power(shifted, steps.let("exp_n", shifted - steps.const(steps.form.magic)))


def scaled(steps: Steps, p: PrimExpr, power: Power, extra: int = 0) -> PrimExpr:
    """p * 2**(n + extra)."""
    if steps.can_scale:  # by an instruction that takes the floor of a float
        n = power.n + steps.const(extra) if extra else power.n
        return math_ops.ldexp(p, arith.cast(math_ops.floor(n), steps.typed("int32")))
    whole = steps.form.integer
    n = steps.bits(power.shifted) - steps.whole(steps.form.magic_bits - extra)
    # in two steps, as 2**n alone may be no number where the product is one
    n = steps.let("exp_bits", n)
    half = steps.let("exp_half", arith.shift_right(n, steps.const(1, whole)))
    return p * _power_of_two(steps, half) * _power_of_two(steps, n - half)


def _power_of_two(steps: Steps, n: PrimExpr) -> PrimExpr:
    biased = n + steps.whole(steps.form.bias)
    return steps.from_bits(arith.shift_left(biased, steps.whole(steps.form.mantissa)))
