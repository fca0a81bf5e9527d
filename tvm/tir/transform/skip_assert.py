"""Asserts are not checked.

assert n > 0, "..."; body     ->     body
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

from .pass_form import tir_pass


@tir_pass("tir.SkipAssert")
def SkipAssert(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No assert is left."""
    return func.with_body(_AssertRemover().visit_stmt(func.body))


class _AssertRemover(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        return self.visit_stmt(op.body)
