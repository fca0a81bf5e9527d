"""From which statement to which one an allocation is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprVisitor, walk

# Attributes whose bodies run elsewhere: scratch memory cannot move out of them.
SCOPES: Final = (
    "thread_extent", "virtual_thread", "compute_scope", "device_scope", "pragma_scope",
)  # fmt: skip


class Life:
    """An allocation, and the statements from its first to its last use."""

    def __init__(self, op: s.Allocate, size: int, home: s.Stmt | None, nests: int) -> None:
        self.op = op
        self.size = size
        self.home = home  # the parallel loop or launch that it cannot leave; None: the function
        self.nests = nests  # the number of loops and conditions around it
        self.first: int | None = None
        self.last = -1

    def use(self, first: int, last: int) -> None:
        """In use from one statement to another."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = max(self.last, last)


class Lives(StmtExprVisitor):
    """Numbers the statements and finds the lives of the allocations that have a size."""

    def __init__(self, size_of: Callable[[s.Allocate], int | None]) -> None:
        super().__init__()
        self._size_of = size_of
        self.entries: dict[e.Var, Life] = {}
        self._now = 0
        self._home: s.Stmt | None = None
        # start, and what is in use throughout
        self._nests: list[tuple[int, set[Life]]] = []

    def scope(self, home: s.Stmt | None, body: s.Stmt) -> None:
        """Visit a body that runs elsewhere."""
        outer, self._home = self._home, home
        self.visit_stmt(body)
        self._home = outer

    def visit_stmt(self, stmt: s.Stmt) -> None:
        self._now += 1
        super().visit_stmt(stmt)

    def _use(self, var: e.Var) -> None:
        life = self.entries.get(var)
        if life is None:
            return
        life.use(self._now, self._now)
        if len(self._nests) > life.nests:
            # from one iteration to the next the memory keeps its values, and threads that a
            # condition parts are not where others are
            start, whole = self._nests[life.nests]
            life.use(start, self._now)
            whole.add(life)

    def visit_var_(self, op: e.Var) -> None:
        self._use(op)

    def visit_buffer_use(self, buffer: Buffer) -> None:
        self._use(buffer.data)

    def visit_buffer_def(self, buffer: Buffer) -> None:
        pass

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        self._in_loop(op, op.body, op.kind in (s.ForKind.PARALLEL, s.ForKind.THREAD_BINDING))

    def visit_while_(self, op: s.While) -> None:
        self._nests.append((self._now, set()))
        self.visit_expr(op.condition)
        self.visit_stmt(op.body)
        self._end_nest()

    def _in_loop(self, op: s.Stmt, body: s.Stmt, elsewhere: bool) -> None:
        self._nests.append((self._now, set()))
        if elsewhere:
            self.scope(op, body)
        else:
            self.visit_stmt(body)
        self._end_nest()

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        self._nests.append((self._now, set()))
        super().visit_if_then_else_(op)
        self._end_nest()

    def _end_nest(self) -> None:
        _, whole = self._nests.pop()
        self._now += 1
        for life in whole:
            life.use(self._now, self._now)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self.visit_expr(op.value)
        if op.attr_key in SCOPES:
            self.scope(op, op.body)
        else:
            self.visit_stmt(op.body)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        if op.var.dtype.is_handle:
            # another name for the memory: how long it is used is not followed
            for node in walk(op.value):
                data = node.buffer.data if isinstance(node, e.BufferLoad) else node
                self.entries.pop(data, None)
        super().visit_let_stmt_(op)

    def visit_allocate_(self, op: s.Allocate) -> None:
        size = self._size_of(op)
        if size is not None and op.buffer_var not in self.entries:
            nests = len(self._nests)
            self.entries[op.buffer_var] = Life(op, size, self._home, nests)
        self.visit_stmt(op.body)
