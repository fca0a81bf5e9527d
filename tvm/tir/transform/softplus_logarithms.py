"""Softplus keeps its digits far below zero, where it is close to exp(x).

    log(1 + exp(x))     ->     log1p(exp(x))

1 + exp(x) has no digits of an exp(x) below 2**-24, and few of one near it.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith
from tvm.tir.op import math as math_ops

from .nodes_used import nodes_used
from .pass_form import tir_pass

_LOG: Final = "tir.log"
_POWER: Final = "tir.exp"


@tir_pass("tir.SoftplusLogarithms")
def SoftplusLogarithms(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Logarithms of one more than an exponential are `log1p` of it."""
    if not {_LOG, _POWER} <= nodes_used(func.body):
        return func
    return func.with_body(_Logarithms().visit_stmt(func.body))


class _Logarithms(StmtExprMutator):
    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not e.is_call_of(call, _LOG) or not isinstance(call.args[0], e.Add):
            return call
        for one, power in ((call.args[0].a, call.args[0].b), (call.args[0].b, call.args[0].a)):
            if arith.literal(one) == 1 and e.is_call_of(power, _POWER):
                return math_ops.log1p(power, call.span)
        return call
