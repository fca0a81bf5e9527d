"""A program without what would only blur its features: loops of one iteration, and padding.

    for i in range(1):
        B[i, j] = T.Select(0 < j, A[i, j], 0) * T.Select(i < j, 2.0, 3.0)
    ->  B[0, j] = T.Select(0 < j, A[0, j], 0) * T.float32(1.0)

A choice between values that are read from no buffer is made in registers, so it counts as a
constant. Loops with a mark, and those that something other than one thread runs, stay.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir.expr import BufferLoad, IntImm, Select, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op.arith import const
from tvm.tir.stmt import For, ForKind, Stmt
from tvm.tir.transform.pass_form import tir_pass


@tir_pass("tir.SimplifyForFeatureExtraction")
def SimplifyForFeatureExtraction(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No plain loop runs once, and what is selected comes from a buffer."""
    return func.with_body(_Simplifier().visit_stmt(func.body))


class _Simplifier(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._single: set[Var] = set()

    def visit_select_(self, op: Select) -> PrimExpr:
        if any(isinstance(node, BufferLoad) for node in walk(op)):
            return op
        return const(1.0, op.dtype)

    def visit_var_(self, op: Var) -> PrimExpr:
        return IntImm(op.dtype, 0) if op in self._single else op

    def visit_for_(self, op: For) -> Stmt:
        if not _runs_once(op):
            return super().visit_for_(op)
        self._single.add(op.loop_var)
        return self.visit_stmt(op.body)


def _runs_once(loop: For) -> bool:
    if loop.kind is not ForKind.SERIAL or loop.annotations:
        return False
    first, extent = loop.min, loop.extent
    if not isinstance(first, IntImm) or not isinstance(extent, IntImm):
        return False
    return first.value == 0 and extent.value == 1
