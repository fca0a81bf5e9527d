"""Threads in lockstep: a barrier after each statement that touches memory which they share.

    shared[tx] = a[tx]; b[tx] = shared[7 - tx]

means, before ThreadSync has run, that all threads store before any of them loads. Where threads
may part (a condition or extent that depends on the thread, or on what was loaded) no barrier can
stand; what they do there for each other has no meaning in this form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .expr import Frame
from .fibers import Steps, answered, is_shared, wait_for_others
from .steps import Part, StepCompiler, one_after_the_other
from .stmt import StmtCompiler, storage_scope


class LockstepCompiler(StepCompiler):
    """Statements of threads that keep in step where they all go the same way."""

    def __init__(self, around: StmtCompiler, thread_vars: Sequence[e.Var]) -> None:
        super().__init__(around)
        self.varying: set[e.Var] = set(thread_vars)
        self.together = True

    def waits(self, node: s.Stmt | PrimExpr) -> bool:
        """Whether a thread may stop; of itself, or because it comes to memory of all."""
        return super().waits(node) or (
            self.together and isinstance(node, s.Stmt) and _touches_shared(node)
        )

    def _same_for_all(self, expr: PrimExpr) -> bool:
        """Whether all threads surely find the same value."""
        for node in walk(expr):
            if isinstance(node, e.BufferLoad) or (isinstance(node, e.Var) and node in self.varying):
                return False
            if isinstance(node, e.Call) and e.op_name(node) != "tir.likely":
                return False
        return True

    def sequence(self, op: s.SeqStmt) -> Steps:
        parts: list[Part] = []
        for stmt in op.seq:
            parts.append(self.part(stmt))
            if self.together and _touches_shared(stmt):
                parts.append(_WAIT)
        return one_after_the_other(parts)

    def loop(self, op: s.For) -> Steps:
        even = self._same_for_all(op.min) and self._same_for_all(op.extent)
        if not even:
            self.varying.add(op.loop_var)
        was, self.together = self.together, self.together and even
        body = self.steps(op.body)
        if self.together and _touches_shared(op.body):
            # one iteration of all threads before the next of any
            body = one_after_the_other([(True, body), _WAIT])
        self.together = was
        return self.each(op, body)

    def while_loop(self, op: s.While) -> Steps:
        was, self.together = self.together, False
        steps = super().while_loop(op)
        self.together = was
        return steps

    def choice(self, op: s.IfThenElse) -> Steps:
        was, self.together = self.together, self.together and self._same_for_all(op.condition)
        steps = super().choice(op)
        self.together = was
        return steps

    def realized(self, op: s.BlockRealize) -> Steps:
        for iter_var, value in zip(op.block.iter_vars, op.iter_values):
            if not self._same_for_all(value):
                self.varying.add(iter_var.var)
        was, self.together = self.together, self.together and self._same_for_all(op.predicate)
        steps = super().realized(op)
        self.together = was
        return steps

    def preparation(self, stmt: s.Stmt, prepare: Callable[[Frame], None]) -> list[Part]:
        parts = super().preparation(stmt, prepare)
        if isinstance(stmt, s.LetStmt):
            if not self._same_for_all(stmt.value):
                self.varying.add(stmt.var)
            if self.together and _touches_shared(stmt.value):
                parts.append(_WAIT)
        return parts


_WAIT: Final[Part] = (True, answered(lambda frame: wait_for_others()))


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
