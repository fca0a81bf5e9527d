"""Parallel loops run one iteration after another.

for i in T.parallel(n): body     ->     for i in range(n): body
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

from .pass_form import tir_pass


@tir_pass("tir.ConvertForLoopsToSerial")
def ConvertForLoopsToSerial(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No loop is parallel."""
    return func.with_body(_Serializer().visit_stmt(func.body))


class _Serializer(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind != s.ForKind.PARALLEL:
            return super().visit_for_(op)
        body = self.visit_stmt(op.body)
        return s.For(op.loop_var, op.min, op.extent, s.ForKind.SERIAL, body, op.thread_binding,
                     op.annotations, op.span)  # fmt: skip
