"""Exponentials far below the maximum of their row are zero, which would come to subnormal numbers.

    M[i] = max(M[i], A[i, k])
    E[i, k] = exp(A[i, k] - M[i])
        ->
    E[i, k] = select(A[i, k] - M[i] < low, 0, exp(max(min(A[i, k] - M[i], 0), low)))

Scores that a mask hides (A - M of -100, -10,000, -inf) come to subnormal numbers, or to zero by way
of them, and many processors take a hundred cycles for an instruction that meets one: the softmax,
and each product with its result. The row's sum is at least exp(0), so that a number below 2**-126
(2**-1022 in float64) is no part of it. 0 is above each difference, unless it is NaN, which both
bounds leave: they tell `VectorMath` that the power of two needs no care.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.float_math.exponential import NORMAL_EXP
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith, const

from .nodes_used import nodes_used
from .pass_form import tir_pass
from .softmax_parts import Made, below_maximum, made_once

_POWER: Final = "tir.exp"


@tir_pass("tir.SoftmaxExponentials")
def SoftmaxExponentials(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """exp(x - m) of the softmax of a row, m being its maximum, is a normal number or zero."""
    if _POWER not in nodes_used(func.body):
        return func
    return func.with_body(_Powers(made_once(func.body)).visit_stmt(func.body))


class _Powers(StmtExprMutator):
    def __init__(self, made: dict[Buffer, Made]) -> None:
        super().__init__()
        self._made = made
        self._block: s.Block | None = None

    def visit_block_(self, op: s.Block) -> s.Stmt:
        around, self._block = self._block, op
        block = super().visit_block_(op)
        self._block = around
        return block

    def visit_call_(self, op: e.Call) -> PrimExpr:
        normal = NORMAL_EXP.get(op.dtype.bits)
        if self._block is None or normal is None or not op.dtype.is_float:
            return super().visit_call_(op)
        if below_maximum(self._block, op, self._made) is None:
            return super().visit_call_(op)
        difference, zero = op.args[0], const(0.0, op.dtype)
        least = const(normal[0], op.dtype)
        kept = arith.max_of(arith.min_of(difference, zero), least)
        power = e.Call(op.dtype, op.op, [kept], op.span)
        return e.Select(arith.less(difference, least), zero, power, op.span)
