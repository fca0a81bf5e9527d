"""exp, exp2, exp10 of float32: 2**n times a polynomial of what is left."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .steps import Steps

# exp(r) = 1 + r + r**2 * Q(r) on [-ln(2)/2, ln(2)/2], relative error 0.05 ulp.
EXP_Q: Final = (
    0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.008368710055947304,
    0.0013814610429108143,
)  # fmt: skip
# 2**r = 1 + r * Q(r) on [-1/2, 1/2], relative error 0.03 ulp.
EXP2_Q: Final = (
    0.6931471824645996, 0.24022647738456726, 0.055503323674201965, 0.00961843691766262,
    0.0013398875016719103, 0.00015353360504377633,
)  # fmt: skip
LOG2_E: Final = 1.4426950408889634
LN2_HIGH: Final = 0.693359375  # few bits, so that n * LN2_HIGH is exact
LN2_LOW: Final = -2.12194440e-4
LOG2_10: Final = 3.321928094887362
LOG10_2_HIGH: Final = 0.30078125
LOG10_2_LOW: Final = 0.000248745663981195
LN_10: Final = 2.302585092994046
# Adding 1.5 * 2**23 rounds a small float to a whole number, which then stands in the low bits.
MAGIC: Final = 12582912.0
MAGIC_BITS: Final = 0x4B400000


def exp(x: PrimExpr) -> PrimExpr:
    """e**x."""
    steps = Steps(x)
    return steps.result(exp_steps(steps, x))


def exp_steps(steps: Steps, x: PrimExpr) -> PrimExpr:
    """e**x as steps of a longer computation."""
    # below -104 every result is zero, above 89 it is infinite
    x = steps.let("exp_x", steps.clamp(x, -104.0, 89.0))
    shifted, n = _nearest_power(steps, x, LOG2_E)
    r = steps.let("exp_r", (x - n * steps.const(LN2_HIGH)) - n * steps.const(LN2_LOW))
    p = steps.polynomial(r, EXP_Q) * (r * r) + r + steps.const(1.0)
    return _scaled(steps, p, shifted)


def exp2(x: PrimExpr) -> PrimExpr:
    """2**x."""
    steps = Steps(x)
    x = steps.let("exp_x", steps.clamp(x, -151.0, 129.0))
    shifted, n = _nearest_power(steps, x, 1.0)
    r = steps.let("exp_r", x - n)
    p = steps.polynomial(r, EXP2_Q) * r + steps.const(1.0)
    return steps.result(_scaled(steps, p, shifted))


def exp10(x: PrimExpr) -> PrimExpr:
    """10**x."""
    steps = Steps(x)
    x = steps.let("exp_x", steps.clamp(x, -46.0, 39.0))
    shifted, n = _nearest_power(steps, x, LOG2_10)
    rest = (x - n * steps.const(LOG10_2_HIGH)) - n * steps.const(LOG10_2_LOW)
    r = steps.let("exp_r", rest * steps.const(LN_10))
    p = steps.polynomial(r, EXP_Q) * (r * r) + r + steps.const(1.0)
    return steps.result(_scaled(steps, p, shifted))


def _nearest_power(steps: Steps, x: PrimExpr, scale: float) -> tuple[PrimExpr, PrimExpr]:
    """n = round(x * scale), as the bits of n + MAGIC and as a float."""
    product = x if scale == 1.0 else x * steps.const(scale)
    shifted = steps.let("exp_shifted", product + steps.const(MAGIC))
    return shifted, steps.let("exp_n", shifted - steps.const(MAGIC))


def _scaled(steps: Steps, p: PrimExpr, shifted: PrimExpr) -> PrimExpr:
    """p * 2**n in two steps, as 2**n alone may be no float32 where the product is one."""
    n = steps.let("exp_bits", steps.bits(shifted) - steps.const(MAGIC_BITS, "int32"))
    half = steps.let("exp_half", arith.shift_right(n, steps.const(1, "int32")))
    first = _power_of_two(steps, half)
    second = _power_of_two(steps, n - half)
    return p * first * second


def _power_of_two(steps: Steps, n: PrimExpr) -> PrimExpr:
    biased = n + steps.const(127, "int32")
    return steps.from_bits(arith.shift_left(biased, steps.const(23, "int32")))
