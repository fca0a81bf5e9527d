"""Blocks have no variables of their own: their values stand in the body.

with T.block():                       with T.block():
    vi = T.axis.spatial(16, i)   ->       T.reads(A[i]); T.writes(B[i])
    B[vi] = A[vi]                         B[i] = A[i]
"""

from __future__ import annotations

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, rewrite, uses_any
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.ConvertBlocksToOpaque")
def ConvertBlocksToOpaque(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No block binds variables afterwards."""
    return rewrite(_OpaqueMaker(), func)


class _OpaqueMaker(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._values: dict[e.Var, PrimExpr] = {}

    def visit_var_(self, op: e.Var) -> PrimExpr:
        value = self._values.get(op)
        return op if value is None else value

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        own = {iter_var.var for iter_var in op.block.iter_vars}
        if uses_any(op.predicate, own):
            raise CheckError(
                f"ConvertBlocksToOpaque: the predicate of block {op.block.name_hint!r} uses its "
                f"own variables: {op.predicate}; legal: the variables around the block"
            )
        for iter_var, value in zip(op.block.iter_vars, op.iter_values):
            self._values[iter_var.var] = ops.cast(self.visit_expr(value), iter_var.var.dtype)
        predicate = self.visit_expr(op.predicate)
        if op.block.init is not None:
            raise CheckError(
                f"ConvertBlocksToOpaque: block {op.block.name_hint!r} still has an initial value; "
                "legal: run LowerInitBlock first"
            )
        bare = with_fields(op.block, iter_vars=()) if op.block.iter_vars else op.block
        block = self.visit_block_(bare)
        if block is op.block and predicate is op.predicate and not op.iter_values:
            return op
        assert isinstance(block, s.Block), "no rule here replaces blocks"
        return s.BlockRealize((), predicate, block, op.span)
