"""What was only said to help proofs is gone.

T.evaluate(T.assume(n > 4)); body     ->     body
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

from .pass_form import tir_pass
from .remove_no_op import RemoveNoOp


@tir_pass("tir.RemoveAssumeInternal")
def _RemoveAssumeInternal(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return func.with_body(_AssumeRemover().visit_stmt(func.body))


def RemoveAssume() -> Sequential:
    """No `T.assume` is left."""
    return Sequential([_RemoveAssumeInternal(), RemoveNoOp()], name="tir.RemoveAssume")


class _AssumeRemover(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        if e.is_call_of(op.value, "tir.assume"):
            return s.Evaluate(0, op.span)
        return op
