"""Each block runs its initial value where all of its reduction variables are at their first value.

    with T.init():            ->      if vk == 0:
        C[vi] = 0.0                       C[vi] = 0.0
    C[vi] = C[vi] + A[vi, vk]         C[vi] = C[vi] + A[vi, vk]

A block without reduction variables runs its initial value always.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import stmt as s
from tvm.tir.expr import IterVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.LowerInitBlock")
def LowerInitBlock(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Blocks' initial values are plain statements afterwards."""
    return func.with_body(_InitLowerer().visit_stmt(func.body))


class _InitLowerer(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr  # blocks hide in no expression

    def visit_block_(self, op: s.Block) -> s.Stmt:
        body = self.visit_stmt(op.body)
        if op.init is None:
            return with_fields(op, body=body)
        init = _guarded(self.visit_stmt(op.init), op)
        return with_fields(op, body=s.SeqStmt.flatten(init, body), init=None)


def _guarded(init: s.Stmt, block: s.Block) -> s.Stmt:
    first: PrimExpr | None = None
    for iter_var in block.iter_vars:
        if iter_var.iter_type == IterVar.CommReduce:
            assert iter_var.dom is not None, "block variables have domains"
            at_start = ops.equal(iter_var.var, iter_var.dom.min, init.span)
            first = at_start if first is None else ops.logical_and(first, at_start, init.span)
    return init if first is None else s.IfThenElse(first, init, None, init.span)
