"""Allocations and the statements between which each of them is in use, in the order of a program.

An allocation is in use from the first to the last of the statements beside it that touch it: a
loop, a branch or a launch counts as one statement for what is allocated outside of it. What threads
share and nobody reads is in use to the end, as barriers are for readers: whatever had the same
memory next would be written while slower threads still write this.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.type import PointerType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprVisitor, walk

from .lifetimes import SCOPES


class Step:
    """A statement: what is used for the first time in it, and what for the last time."""

    __slots__ = ("born", "dying", "stmt", "threads", "used")

    def __init__(self, stmt: s.Stmt, threads: tuple[s.AttrStmt, ...]) -> None:
        self.stmt: Final = stmt
        self.threads: Final = threads  # the launches around it
        self.used: dict[e.Var, None] = {}
        self.born: list[e.Var] = []
        self.dying: list[e.Var] = []


class Allocation:
    """An allocation, the scope that its memory cannot leave, and the buffers that lie in it."""

    __slots__ = ("buffers", "home", "level", "op", "steps")

    def __init__(self, op: s.Allocate, home: s.Stmt | None, level: int) -> None:
        self.op: Final = op
        self.home: Final = home  # a parallel loop or a launch; None: the function
        self.level: Final = level  # the number of scopes around it
        self.buffers: dict[Buffer, None] = {}
        self.steps: list[Step] = []


class Steps(StmtExprVisitor):
    """The steps of a program as pairs: a step, and whether it begins, ends, or does both."""

    BEGIN, END, WHOLE = range(3)

    def __init__(self, body: s.Stmt) -> None:
        super().__init__()
        self.timeline: list[tuple[Step, int]] = []
        self.allocations: dict[e.Var, Allocation] = {}
        self.buffers: set[Buffer] = set()  # those that are accessed
        self.fixed: set[e.Var] = set()  # memory that has other names
        self._read: set[e.Var] = set()
        self._open: list[Step] = []
        self._home: s.Stmt | None = None
        self._threads: tuple[s.AttrStmt, ...] = ()
        self.visit_stmt(body)
        for allocation in self.allocations.values():
            if allocation.steps:
                var = allocation.op.buffer_var
                allocation.steps[0].born.append(var)
                if var in self._read or not _is_shared(var):
                    allocation.steps[-1].dying.append(var)
        for step, _ in self.timeline:  # in the order in which the statement touches them
            step.born.sort(key=list(step.used).index)
            step.dying.sort(key=list(step.used).index)

    def _touch(self, var: e.Var) -> None:
        allocation = self.allocations.get(var)
        if allocation is None:
            return
        step = self._open[min(allocation.level, len(self._open) - 1)]
        if var not in step.used:
            step.used[var] = None
            allocation.steps.append(step)

    def _leaf(self, op: s.Stmt) -> None:
        step = Step(op, self._threads)
        self._open.append(step)
        super().visit_stmt(op)
        self._open.pop()
        if step.used:
            self.timeline.append((step, Steps.WHOLE))

    def _scope(self, op: s.Stmt, *, home: bool) -> None:
        step = Step(op, self._threads)
        self._open.append(step)
        self.timeline.append((step, Steps.BEGIN))
        outer = self._home
        if home:
            self._home = op
        super().visit_stmt(op)
        self._home = outer
        self._open.pop()
        self.timeline.append((step, Steps.END))

    def visit_stmt(self, stmt: s.Stmt) -> None:
        if isinstance(stmt, (s.BufferStore, s.Evaluate)):
            self._leaf(stmt)
        elif isinstance(stmt, s.For):
            self._scope(stmt, home=stmt.kind in (s.ForKind.PARALLEL, s.ForKind.THREAD_BINDING))
        elif isinstance(stmt, (s.While, s.IfThenElse, s.AssertStmt)):
            self._scope(stmt, home=False)
        elif isinstance(stmt, s.AttrStmt) and stmt.attr_key in (*SCOPES, "extern_scope"):
            self._attribute(stmt)
        else:
            super().visit_stmt(stmt)

    def _attribute(self, op: s.AttrStmt) -> None:
        """Memory stays inside of the launch that allocates it, whose outermost axis owns it."""
        outer = self._threads
        if op.attr_key in ("thread_extent", "virtual_thread"):
            self._threads = (*outer, op)
        inner_axis = op.attr_key == "thread_extent" and any(
            thread.attr_key == "thread_extent" for thread in outer
        )
        self._scope(op, home=op.attr_key in SCOPES and not inner_axis)
        self._threads = outer

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        if op.var.dtype.is_handle:
            for node in walk(op.value):
                data = node.buffer.data if isinstance(node, e.BufferLoad) else node
                if isinstance(data, e.Var):
                    self.fixed.add(data)
        self._leaf(s.Evaluate(op.value))
        self.visit_stmt(op.body)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self._leaf(s.Evaluate(op.value))  # what it says of memory is no access to it
        self.visit_stmt(op.body)

    def visit_allocate_(self, op: s.Allocate) -> None:
        if op.buffer_var in self.allocations:
            self.fixed.add(op.buffer_var)  # allocated twice
        else:
            allocation = Allocation(op, self._home, len(self._open))
            self.allocations[op.buffer_var] = allocation
        super().visit_allocate_(op)

    def visit_var_(self, op: e.Var) -> None:
        self._read.add(op)  # a pointer, for who knows what
        self._touch(op)

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self._read.add(op.buffer.data)
        super().visit_buffer_load_(op)

    def visit_buffer_def(self, buffer: Buffer) -> None:
        pass

    def visit_buffer_use(self, buffer: Buffer) -> None:
        self.buffers.add(buffer)
        allocation = self.allocations.get(buffer.data)
        if allocation is not None:
            allocation.buffers[buffer] = None
            self._touch(buffer.data)


def _is_shared(var: e.Var) -> bool:
    kind = var.type_annotation
    return isinstance(kind, PointerType) and kind.storage_scope.startswith("shared")
