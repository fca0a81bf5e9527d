"""Loops that are left early, or whose iterations are cut short, say so.

    for i in range(n):                     for i in T.serial(n, annotations={MARK: 1}):
        if A[i] > 4:               ->          if A[i] > 4:
            T.break_loop()                         T.break_loop()

Such a loop can be neither vectorized, nor unrolled, nor run in parallel.
"""

from __future__ import annotations

from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, children

from .pass_form import tir_pass

MARK: Final = "irregular_loop_mark"
_JUMPS: Final = ("tir.break_loop", "tir.continue_loop")


@tir_pass("tir.AnnotateIrregularLoop")
def AnnotateIrregularLoop(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Every loop with a jump of its own carries the mark."""
    return func.with_body(_Marker().visit_stmt(func.body))


def is_irregular(loop: s.For) -> bool:
    """True if a jump in the body leaves the loop or one of its iterations."""
    stack: list[object] = [loop.body]
    while stack:
        node = stack.pop()
        if e.op_name(node) in _JUMPS:
            return True
        if isinstance(node, (s.For, s.While)):
            continue  # jumps in there are that loop's own
        if isinstance(node, (s.Stmt, e.Call)):
            stack.extend(children(node))
    return False


class _Marker(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        stmt = super().visit_for_(op)
        if not isinstance(stmt, s.For) or not is_irregular(stmt):
            return stmt
        if stmt.kind != s.ForKind.SERIAL:
            raise CheckError(
                message(
                    f"loop {stmt.loop_var.name} with break_loop or continue_loop",
                    found=f"a loop of kind {stmt.kind.name.lower()}",
                    legal="a serial loop",
                )
            )
        annotations = {**stmt.annotations, MARK: 1}
        return s.For(stmt.loop_var, stmt.min, stmt.extent, stmt.kind, stmt.body, None,
                     annotations, stmt.span)  # fmt: skip
