"""tanh and sigmoid of float32, on top of exp."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.op import arith

from .exponential import exp_steps
from .steps import Steps

# tanh(x) = x + x**3 * Q(x**2) on [0, 0.625], relative error 0.07 ulp.
TANH_Q: Final = (
    -0.3333328068256378, 0.13331441581249237, -0.05373971536755562, 0.02063908986747265,
    -0.005704990588128567,
)  # fmt: skip


def tanh(x: PrimExpr) -> PrimExpr:
    """A polynomial near zero; 1 - 2 / (exp(2 |x|) + 1) further out."""
    steps = Steps(x)
    x = steps.let("tanh_x", x)
    a = steps.let("tanh_a", steps.absolute(x))
    square = steps.let("tanh_square", a * a)
    near = a + a * square * steps.polynomial(square, TANH_Q)
    power = exp_steps(steps, a + a)
    far = steps.const(1.0) - steps.const(2.0) / (power + steps.const(1.0))
    value = steps.select(a < steps.const(0.625), near, far)
    return steps.result(steps.with_sign_of(value, x))


def sigmoid(x: PrimExpr) -> PrimExpr:
    """1 / (1 + exp(-x)), from exp(-|x|) so that nothing overflows."""
    steps = Steps(x)
    x = steps.let("sigmoid_x", x)
    power = steps.let("sigmoid_power", exp_steps(steps, -steps.absolute(x)))
    one = steps.const(1.0)
    above = arith.greater_equal(x, steps.const(0.0))
    return steps.result(steps.select(above, one, power) / (one + power))
