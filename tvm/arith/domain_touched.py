"""The box of a buffer that a statement reads or writes."""

from __future__ import annotations

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprVisitor

from .analyzer import Analyzer
from .interval_set import IntervalSet, IntSet, eval_set, union


@explained
def domain_touched(
    stmt: s.Stmt, buffer: Buffer, consider_loads: bool = True, consider_stores: bool = True
) -> list[Range]:
    """One range a dimension around all the elements that loads and stores in `stmt` touch.

    Loop variables of the statement are widened to their range; the list is empty if nothing is
    touched.
    """
    if not (consider_loads or consider_stores):
        raise CheckError("domain_touched: consider at least one of loads and stores, found neither")
    visitor = _Visitor(buffer, consider_loads, consider_stores)
    visitor.visit_stmt(stmt)
    analyzer = Analyzer()
    result = []
    for sets in visitor.touched:
        merged = union(sets, analyzer)
        assert isinstance(merged, IntervalSet), "a union of intervals is one"
        result.append(merged.as_range(analyzer))
    return result


class _Visitor(StmtExprVisitor):
    def __init__(self, buffer: Buffer, loads: bool, stores: bool) -> None:
        super().__init__()
        self.touched: list[list[IntSet]] = []
        self._buffer = buffer
        self._loads = loads
        self._stores = stores
        self._domains: dict[e.Var, IntSet | Range] = {}

    def _touch(self, indices: tuple[PrimExpr, ...]) -> None:
        if not self.touched:
            self.touched = [[] for _ in indices]
        for sets, index in zip(self.touched, indices):
            sets.append(eval_set(index, self._domains))

    def visit_for_(self, op: s.For) -> None:
        self._domains[op.loop_var] = Range.from_min_extent(op.min, op.extent)
        self.visit_stmt_default_(op)
        del self._domains[op.loop_var]

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.visit_expr(op.value)
        if op.var.dtype.is_integer:
            self._domains[op.var] = eval_set(op.value, self._domains)
        self.visit_stmt(op.body)
        self._domains.pop(op.var, None)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        axis = op.node
        if op.attr_key == "thread_extent" and isinstance(axis, e.IterVar):
            self._domains[axis.var] = Range.from_min_extent(e.make_const(0, axis.dtype), op.value)
        self.visit_stmt_default_(op)

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        if self._loads and op.buffer is self._buffer:
            self._touch(op.indices)
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        if self._stores and op.buffer is self._buffer:
            self._touch(op.indices)
        super().visit_buffer_store_(op)
