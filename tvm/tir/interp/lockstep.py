"""Threads in lockstep: a barrier after each statement that touches memory which they share.

    shared[tx] = a[tx]; b[tx] = shared[7 - tx]

means, before ThreadSync has run, that all threads store before any of them loads. Where threads
may part (a condition or extent that depends on the thread, or on what was loaded) no barrier can
stand; what they do there for each other has no meaning in this form.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .expr import Frame, Layout
from .fibers import is_shared, wait_for_others
from .stmt import Step, StmtCompiler, storage_scope


class LockstepCompiler(StmtCompiler):
    """Statements of threads that keep in step where they all go the same way."""

    def __init__(self, around: StmtCompiler, thread_vars: Sequence[e.Var]) -> None:
        layout: Layout = around.layout
        super().__init__(layout, around.program)
        self.reducer = around.reducer
        self.varying: set[e.Var] = set(thread_vars)
        self.together = True

    def _same_for_all(self, expr: PrimExpr) -> bool:
        """Whether all threads surely find the same value."""
        for node in walk(expr):
            if isinstance(node, e.BufferLoad) or (isinstance(node, e.Var) and node in self.varying):
                return False
            if isinstance(node, e.Call) and getattr(node.op, "name", "") != "tir.likely":
                return False
        return True

    def visit_seq_stmt_(self, op: s.SeqStmt) -> Step:
        if not self.together or not _touches_shared(op):
            return super().visit_seq_stmt_(op)
        steps: list[Step] = []
        for stmt in op.seq:
            steps.append(self.compile_stmt(stmt))
            if _touches_shared(stmt):
                steps.append(_wait)

        def run(frame: Frame) -> None:
            for step in steps:
                step(frame)

        return run

    def visit_for_(self, op: s.For) -> Step:
        if op.kind == s.ForKind.THREAD_BINDING:
            return super().visit_for_(op)
        even = self._same_for_all(op.min) and self._same_for_all(op.extent)
        if not even:
            self.varying.add(op.loop_var)
        if not self.together or not even or not _touches_shared(op.body):
            was, self.together = self.together, self.together and even
            step = super().visit_for_(op)
            self.together = was
            return step
        # one iteration of all threads before the next of any
        body = self.compile_stmt(op.body)

        def run(frame: Frame) -> None:
            body(frame)
            wait_for_others()

        return self.iterations(op, run)

    def visit_while_(self, op: s.While) -> Step:
        was, self.together = self.together, False
        step = super().visit_while_(op)
        self.together = was
        return step

    def visit_if_then_else_(self, op: s.IfThenElse) -> Step:
        was, self.together = self.together, self.together and self._same_for_all(op.condition)
        step = super().visit_if_then_else_(op)
        self.together = was
        return step

    def visit_block_realize_(self, op: s.BlockRealize) -> Step:
        for iter_var, value in zip(op.block.iter_vars, op.iter_values):
            if not self._same_for_all(value):
                self.varying.add(iter_var.var)
        was, self.together = self.together, self.together and self._same_for_all(op.predicate)
        step = super().visit_block_realize_(op)
        self.together = was
        return step

    def _let(self, op: s.LetStmt) -> Step:
        if not self._same_for_all(op.value):
            self.varying.add(op.var)
        step = super()._let(op)
        if not self.together or not _touches_shared(op.value):
            return step

        def run(frame: Frame) -> None:
            step(frame)
            wait_for_others()

        return run


def _wait(frame: Frame) -> None:
    wait_for_others()


def _touches_shared(stmt: s.Stmt | PrimExpr) -> bool:
    for node in walk(stmt):
        if isinstance(node, (s.BufferStore, e.BufferLoad)):
            touched = [node.buffer.data]
        else:  # by address
            given = node.args if isinstance(node, e.Call) else ()
            touched = [a for a in given if isinstance(a, e.Var) and a.dtype.is_handle]
        if any(is_shared(storage_scope(var)) for var in touched):
            return True
    return False
