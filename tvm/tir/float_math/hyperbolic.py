"""tanh, sigmoid, sinh, cosh and their inverses, on top of exp and log."""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .exponential import exp_steps, small_exp_steps
from .logarithm import log_steps, one_more
from .steps import Steps

# tanh(x) = x + x**3 * Q(x**2) on [0, 0.625], relative error 0.07 ulp.
TANH_Q: Final = {
    32: (
        -0.3333328068256378, 0.13331441581249237, -0.05373971536755562, 0.02063908986747265,
        -0.005704990588128567,
    ),
    64: (
        -0.33333333333333315, 0.1333333333332989, -0.0539682539661346, 0.021869488470657353,
        -0.008863234341538784, 0.0035921142715394094, -0.0014557276179755058,
        0.0005894586267359269, -0.00023703013328034217, 9.15898243599907e-05,
        -3.0217991323272614e-05, 6.055645668443415e-06,
    ),
}  # fmt: skip
# Beyond, tanh is 1.
TANH_END: Final = {32: 9.1, 64: 19.1}
# sinh(x) = x + x**3 * Q(x**2) on [0, 1], relative error 0.001 ulp.
SINH_Q: Final = {
    32: (0.1666666716337204, 0.008333350531756878, 0.0001983606634894386, 2.817438826241414e-06),
    64: (
        0.16666666666666666, 0.008333333333333333, 0.0001984126984126959, 2.755731922412023e-06,
        2.5052108345643685e-08, 1.605905070564108e-10, 7.646476373051549e-13,
        2.848398043819589e-15,
    ),
}  # fmt: skip
LARGE: Final = 2.0**28  # x**2 + 1 is x**2 from here on, in either type


def tanh(steps: Steps, x: PrimExpr) -> PrimExpr:
    """A polynomial near zero; 1 - 2 / (exp(2 |x|) + 1) further out."""
    x = steps.let("tanh_x", x)
    a = arith.min_of(steps.absolute(x), steps.const(TANH_END[steps.form.bits]))
    a = steps.let("tanh_a", a)
    square = steps.let("tanh_square", a * a)
    near = a + a * square * steps.polynomial(square, TANH_Q[steps.form.bits])
    power = small_exp_steps(steps, a + a)
    far = steps.const(1.0) - steps.const(2.0) / (power + steps.const(1.0))
    # NaN takes the near side, where it stays
    value = steps.select(arith.greater_equal(a, steps.const(0.625)), far, near)
    return steps.result(steps.with_sign_of(value, x))


def sigmoid(steps: Steps, x: PrimExpr) -> PrimExpr:
    """1 / (1 + exp(-x)), from exp(-|x|) so that nothing overflows."""
    x = steps.let("sigmoid_x", x)
    power = steps.let("sigmoid_power", exp_steps(steps, -steps.absolute(x)))
    one = steps.const(1.0)
    above = arith.greater_equal(x, steps.const(0.0))
    return steps.result(steps.select(above, one, power) / (one + power))


def sinh(steps: Steps, x: PrimExpr) -> PrimExpr:
    """A polynomial up to 1; (exp(x) - exp(-x)) / 2 further out."""
    x = steps.let("sinh_x", x)
    a = steps.let("sinh_a", steps.absolute(x))
    square = steps.let("sinh_square", a * a)
    near = a + a * square * steps.polynomial(square, SINH_Q[steps.form.bits])
    half = steps.let("sinh_half", exp_steps(steps, a, halved=True))
    far = half - steps.const(0.25) / half
    value = steps.select(a < steps.const(1.0), near, far)
    return steps.result(steps.with_sign_of(value, x))


def cosh(steps: Steps, x: PrimExpr) -> PrimExpr:
    """(exp(x) + exp(-x)) / 2."""
    half = steps.let("cosh_half", exp_steps(steps, steps.absolute(x), halved=True))
    return steps.result(half + steps.const(0.25) / half)


def asinh(steps: Steps, x: PrimExpr) -> PrimExpr:
    """log(|x| + sqrt(x**2 + 1)) as log1p, which is exact near zero."""
    x = steps.let("asinh_x", x)
    a = steps.let("asinh_a", steps.absolute(x))
    square = steps.let("asinh_square", a * a)
    one = steps.const(1.0)
    more = a + square / (one + steps.root(square + one))
    value = _log1p_or_log(steps, more, a)
    return steps.result(steps.with_sign_of(value, x))


def acosh(steps: Steps, x: PrimExpr) -> PrimExpr:
    """log(x + sqrt(x**2 - 1)) as log1p of what exceeds 1; NaN below 1."""
    x = steps.let("acosh_x", x)
    t = steps.let("acosh_t", x - steps.const(1.0))
    more = t + steps.root(t * (t + steps.const(2.0)))
    value = _log1p_or_log(steps, more, x)
    legal = arith.greater_equal(x, steps.const(1.0))
    return steps.result(steps.select(legal, value, steps.const(math.nan)))


def _log1p_or_log(steps: Steps, more: PrimExpr, large: PrimExpr) -> PrimExpr:
    """log(1 + more); log(2 * large) where `large` is so large that its square says nothing."""
    is_large = steps.let("log1p_large", large > steps.const(LARGE))
    more = steps.let("log1p_more", more)
    u, lost = one_more(steps, more)
    argument = steps.let("log1p_arg", steps.select(is_large, large, u))
    rest = steps.select(is_large, steps.const(math.log(2.0)), lost)
    value = log_steps(steps, argument) + rest
    # infinity and NaN stay, and so do numbers that are their own result
    value = steps.select(argument < steps.const(math.inf), value, argument)
    tiny = more < steps.const(2.0 ** -(steps.form.mantissa + 2))
    return steps.select(tiny, more, value)


def atanh(steps: Steps, x: PrimExpr) -> PrimExpr:
    """log1p(2 |x| / (1 - |x|)) / 2; infinite at 1 and NaN beyond."""
    x = steps.let("atanh_x", x)
    one = steps.const(1.0)
    a = steps.let("atanh_a", steps.absolute(x))
    more = steps.let("atanh_more", (a + a) / (one - a))
    u, lost = one_more(steps, more)
    value = (log_steps(steps, u) + lost) * steps.const(0.5)
    tiny = a < steps.const(2.0 ** -(steps.form.mantissa // 2 + 2))
    value = steps.select(tiny, a, value)
    value = steps.select(arith.equal(a, one), steps.const(math.inf), value)
    legal = arith.less_equal(a, one)
    value = steps.select(legal, value, steps.const(math.nan))
    return steps.result(steps.with_sign_of(value, x))
