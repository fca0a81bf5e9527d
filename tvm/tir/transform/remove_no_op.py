"""Statements that do nothing disappear.

    for i in range(0): ...            ->      (nothing)
    if n > 0: T.evaluate(0)           ->      (nothing)
    A[i] = A[i]                       ->      (nothing)

Loops without an iteration or with an empty body, conditions around nothing, names and allocations
that nothing uses, evaluations without effects, stores of an element to itself. With the option
`use_dataflow_analysis` also stores that later ones overwrite unread, those of the value that is
there already, and those to scratch memory that nothing reads.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import variables_of_buffers
from tvm.tir.buffer import Buffer
from tvm.tir.effects import has_effect, reads_memory
from tvm.tir.function import PrimFunc
from tvm.tir.functor import distinct, uses_var, walk
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator, as_fact
from .dead_stores import (
    effects_of,
    uses_memory,
    without_overwritten,
    without_unread,
)
from .pass_form import tir_pass
from .repeated_stores import without_repeated


@tir_pass("tir.RemoveNoOp")
def RemoveNoOp(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Every remaining statement may have an effect."""
    config = ctx.option("tir.RemoveNoOp")
    steps = int(config.max_simplification_steps)
    return without_no_op(func, bool(config.use_dataflow_analysis), steps)


def without_no_op(func: PrimFunc, dataflow: bool, max_steps: int = 0) -> PrimFunc:
    """The function without statements that do nothing."""
    once = _removed(func, dataflow, max_steps)
    fewer = without_repeated(once) if dataflow else once
    return once if fewer.body is once.body else _removed(fewer, dataflow, max_steps)


def _removed(func: PrimFunc, dataflow: bool, max_steps: int) -> PrimFunc:
    remover = _Remover(func, dataflow)
    remover.analyzer.set_maximum_rewrite_steps(max_steps)
    return func.with_body(remover.visit_stmt(func.body))


class _Remover(AnalyzedMutator):
    def __init__(self, func: PrimFunc, dataflow: bool) -> None:
        super().__init__(func)
        self._dataflow = dataflow
        self._compares = dataflow  # indices, so that values behind names count and not just bounds
        self._body = func.body
        self._of_buffers: set[e.Var] | None = None
        self._uses: set[e.Var] = set()
        self._rebound: set[e.Var] = set()
        bound: set[e.Var] = set()
        for node in distinct(func.body):
            if isinstance(node, e.Var):
                self._uses.add(node)
            elif isinstance(node, s.LetStmt):
                (self._rebound if node.var in bound else bound).add(node.var)
            elif isinstance(node, s.BufferStore):
                self._compares |= _is_copy(node)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        if isinstance(op.value, e.IntImm) or has_effect(op.value):
            return op
        return s.Evaluate(0, op.span)

    def visit_for_(self, op: s.For) -> s.Stmt:
        if self._is_empty(op.extent):
            return s.Evaluate(0, op.span)
        stmt = super().visit_for_(op)
        if not isinstance(stmt, s.For) or not s.is_no_op(stmt.body):
            return stmt
        return effects_of(op.min, op.extent)

    def _is_empty(self, extent: PrimExpr) -> bool:
        if isinstance(extent, e.IntImm):
            return extent.value <= 0
        return self.analyzer.const_int_bound(self.analyzer.simplify(extent)).max_value <= 0

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        stmt = super().visit_if_then_else_(op)
        if not isinstance(stmt, s.IfThenElse):
            return stmt
        then_empty = s.is_no_op(stmt.then_case)
        otherwise = stmt.else_case
        if otherwise is not None and s.is_no_op(otherwise):
            otherwise = None
        if then_empty and otherwise is None:
            return effects_of(stmt.condition)
        if then_empty and otherwise is not None:
            inverse = ops.logical_not(as_fact(stmt.condition))
            return s.IfThenElse(inverse, otherwise, None, stmt.span)
        if otherwise is stmt.else_case:
            return stmt
        return s.IfThenElse(stmt.condition, stmt.then_case, None, stmt.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        if self._compares and op.value.dtype.is_integer and not reads_memory(op.value):
            self.analyzer.bind(op.var, op.value, allow_override=True)
        stmt = super().visit_let_stmt_(op)
        if not isinstance(stmt, s.LetStmt):
            return stmt
        if s.is_no_op(stmt.body):
            return effects_of(stmt.value)
        if not self._dataflow and stmt.body is op.body and self._is_used(stmt.var):
            return stmt
        if uses_var(stmt.body, stmt.var):
            return stmt
        if self._may_be_of_buffer(stmt.var) and stmt.var in variables_of_buffers(stmt.body):
            return stmt
        return s.SeqStmt.flatten(effects_of(stmt.value), stmt.body)

    def _may_be_of_buffer(self, var: e.Var) -> bool:
        """A buffer mentions it somewhere: nothing new does, once something is removed."""
        if self._of_buffers is None:
            self._of_buffers = variables_of_buffers(self._body)
        return var in self._of_buffers

    def _is_used(self, var: e.Var) -> bool:
        """A variable that is bound once is used where it was bound, before anything is removed."""
        return var in self._uses and var not in self._rebound

    def visit_while_(self, op: s.While) -> s.Stmt:
        if ops.literal(op.condition) == 0:
            return s.Evaluate(0, op.span)
        return super().visit_while_(op)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        stmt = super().visit_allocate_(op)
        body = _body_of(stmt)
        without = body
        if self._dataflow:
            without = without_unread(op.buffer_var, body)
        if without is not body:
            assert isinstance(stmt, s.Allocate), "an allocation stays one"
            body = _Remover.visit_stmt(self, without)
            stmt = s.Allocate(
                op.buffer_var, op.dtype, op.extents, op.condition, body, op.annotations, op.span
            )
        body = _body_of(stmt)
        if s.is_no_op(body):
            return s.Evaluate(0)
        return body if self._dataflow and not uses_memory(op.buffer_var, body) else stmt

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        stmt = super().visit_decl_buffer_(op)
        body = _body_of(stmt)
        if s.is_no_op(body):
            return s.Evaluate(0)
        return stmt if _uses_buffer(op.buffer, body) else body

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        stmt = super().visit_attr_stmt_(op)
        return s.Evaluate(0) if s.is_no_op(_body_of(stmt)) else stmt

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        parts = [self.visit_stmt(part) for part in op.seq]
        if self._dataflow:
            kept = without_overwritten(parts, self.analyzer)
            parts = [b if a is b else self.visit_stmt(b) for a, b in zip(parts, kept)]
        if all(a is b for a, b in zip(op.seq, parts)) and not any(map(s.is_no_op, parts)):
            return op
        return s.SeqStmt.flatten([part for part in parts if not s.is_no_op(part)])

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        value = op.value
        if not _is_copy(op) or not isinstance(value, e.BufferLoad):
            return op
        prove = self.analyzer.can_prove_equal
        if not all(prove(a, b) for a, b in zip(value.indices, op.indices)):
            return op
        return effects_of(*op.indices)


def _is_copy(op: s.BufferStore) -> bool:
    """Whether an element is written that is read from the same memory."""
    value = op.value
    same = isinstance(value, e.BufferLoad) and value.buffer is op.buffer
    return same and value.predicate is op.predicate  # type: ignore[attr-defined]


def _uses_buffer(buffer: Buffer, body: s.Stmt) -> bool:
    return any(getattr(node, "buffer", None) is buffer for node in walk(body)) or any(
        isinstance(node, (s.Block, s.AttrStmt)) for node in walk(body)
    )


def _body_of(stmt: s.Stmt) -> s.Stmt:
    body = getattr(stmt, "body", stmt)
    assert isinstance(body, s.Stmt), "bodies are statements"
    return body
