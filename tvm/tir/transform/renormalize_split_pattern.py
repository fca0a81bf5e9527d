"""Quotients of rests become rests of quotients, which is how other passes expect splits.

x % 16 // 4     ->     x // 4 % 4
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator
from .pass_form import tir_pass


@tir_pass("tir.RenormalizeSplitPattern")
def RenormalizeSplitPattern(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No quotient of a remainder by a divisor of the remainder's divisor is left."""
    return func.with_body(_Renormalizer(func).visit_stmt(func.body))


class _Renormalizer(AnalyzedMutator):
    def visit_floor_div_(self, op: e.FloorDiv) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if isinstance(a, e.FloorMod):
            outer, inner = ops.literal(a.b), ops.literal(b)
            if outer and inner and inner > 0 and outer % inner == 0:
                quotient = ops.floordiv(a.a, b, op.span)
                return ops.floormod(quotient, ops.const(outer // inner, op.dtype), op.span)
        return op if a is op.a and b is op.b else e.FloorDiv(a, b, op.span)
