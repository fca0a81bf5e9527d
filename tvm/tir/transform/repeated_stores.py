"""Stores of a value that the element has already.

    for i in range(6): A[i] = i * 2           for i in range(6): A[i] = i * 2
    A[3] = 6                            ->    (nothing)
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.effects import has_effect, reads_memory
from tvm.tir.function import PrimFunc

from .flow_simplifier import FlowSimplifier


def without_repeated(func: PrimFunc) -> PrimFunc:
    """The function without the stores that change nothing."""
    return func.with_body(_Remover(func, False).visit_stmt(func.body))


class _Remover(FlowSimplifier):
    """Follows what is known of the contents of buffers; nothing else changes."""

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        body = self.visit_stmt(op.body)
        return op if body is op.body else s.LetStmt(op.var, op.value, body, op.span)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        return self._either(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        if op.predicate is None and self._is_there(op):
            return s.Evaluate(0, op.span)
        return super().visit_buffer_store_(op)

    def _is_there(self, op: s.BufferStore) -> bool:
        parts = (*op.indices, op.value)
        if any(reads_memory(x) or has_effect(x) or not x.dtype.is_scalar for x in parts):
            return False
        known = self.facts.known(e.BufferLoad(op.buffer, op.indices))
        return known is not None and self.analyzer.can_prove_equal(known, op.value)
