"""Simplification that follows what stores and assumptions say about the contents of buffers.

    A[0] = 0                                A[0] = 0
    if A[0] == 0:            ->             A[0] = 42
        A[0] = 42
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import BufferFacts, assumed
from tvm.tir.analysis.lasting_fact import lasting_fact
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator, as_fact, bare_condition
from .simplifier import Simplifier


class FlowSimplifier(Simplifier):
    """Walks in the order of execution; `replace` also replaces loads by known values."""

    def __init__(self, func: PrimFunc | None, replace: bool) -> None:
        super().__init__(func)
        self.facts: Final = BufferFacts(self.analyzer)
        self._replace = replace

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return super().visit_expr(self.facts.put_in(expr) if self._replace else expr)

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        condition = assumed(op)
        if condition is None:
            stmt = super().visit_evaluate_(op)
            self.facts.forget(op)
            return stmt
        value = op.value
        assert isinstance(value, e.Call), "an assumption is a call"
        stated = Simplifier.visit_expr(self, condition)
        self.facts.assume(stated)
        if stated is condition:
            return op
        return s.Evaluate(e.Call(value.dtype, value.op, (stated,), value.span), op.span)

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        return AnalyzedMutator.visit_seq_stmt_(self, op)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        simplify = self.analyzer.simplify
        value: PrimExpr | None = None
        if op.predicate is None:
            value = self.facts.put_in(op.value)
            if value.dtype.is_integer:
                value = simplify(value)
        store = super().visit_buffer_store_(op)
        self.facts.store(op.buffer, [simplify(index) for index in op.indices], value)
        return store

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        asked = bare_condition(op.condition)
        known = ops.literal(self.analyzer.simplify(self.facts.put_in(asked)))
        if known is not None:
            if known:
                return self.visit_stmt(op.then_case)
            return s.Evaluate(0) if op.else_case is None else self.visit_stmt(op.else_case)
        return self._either(op)

    def _either(self, op: s.IfThenElse) -> s.Stmt:
        """Both branches, each with what the condition says."""
        condition = self.visit_expr(op.condition)
        fact = as_fact(condition)
        before = self.facts.now
        then_case = self._branch(op.then_case, fact)
        after_then, self.facts.now = self.facts.now, before
        opposite = self.analyzer.simplify(ops.logical_not(fact))
        else_case = None if op.else_case is None else self._branch(op.else_case, opposite)
        self.facts.join(fact, after_then)
        same = condition is op.condition and then_case is op.then_case
        if same and else_case is op.else_case:
            return op
        return s.IfThenElse(condition, then_case, else_case, op.span)

    def _branch(self, stmt: s.Stmt, fact: PrimExpr) -> s.Stmt:
        self.facts.assume(fact)
        with self.analyzer.constraint_scope(lasting_fact(fact, stmt)):
            return self.visit_stmt(stmt)

    def visit_for_(self, op: s.For) -> s.Stmt:
        entry = self.facts.enter_loop(op)
        loop = super().visit_for_(op)
        self.facts.leave_loop(entry)
        return loop

    def visit_while_(self, op: s.While) -> s.Stmt:
        self.facts.forget(op)
        stmt = super().visit_while_(op)
        self.facts.forget(op)
        return stmt

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        self.facts.assume(op.condition)
        return super().visit_assert_stmt_(op)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        if op.iter_vars:  # a name for an index: what is known is said in other names
            outer, self.facts.now = self.facts.now, []
            block = super().visit_block_(op)
            self.facts.now = outer
            self.facts.forget(op)
            return block
        return super().visit_block_(op)

    def visit_init(self, init: s.Stmt) -> s.Stmt:
        new = super().visit_init(init)
        self.facts.forget(init)  # later iterations come without it
        return new

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        stmt = super().visit_block_realize_(op)
        if not ops.is_one(op.predicate):
            self.facts.forget(op.block)  # which may not have run
        return stmt
