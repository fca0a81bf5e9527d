"""Scratch memory is allocated once, far out, and shared by what is never in use together.

    for i in range(n):                          s = alloc(16)
        a = alloc(16); b = alloc(16)            for i in range(n):
        a[:] = f(i)                      ->         s[:] = f(i)        # a
        c[:] = g(a)                                 c[:] = g(s)
        b[:] = h(c)                                 s[:] = h(c)        # b

Allocations of constant size move to the start of the function, of the body of a parallel loop, or
of a launch of threads. Two share memory if they have one type and scope and no statement, taking
loops as a whole, lies between the first and the last use of both.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

# Attributes whose bodies run elsewhere: scratch memory cannot move out of them.
_SCOPES = ("thread_extent", "virtual_thread", "compute_scope", "device_scope", "pragma_scope")


@tir_pass("tir.StorageRewrite")
def StorageRewrite(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No two allocations of one scope could share memory, as far as that can be seen."""
    lives = _Lives()
    lives.scope(None, func.body)
    if not lives.entries:
        return func
    plan = _plan(list(lives.entries.values()))
    rewriter = _Rewriter(plan)
    return func.with_body(rewriter.scope(None, func.body))


class _Life:
    """An allocation, and the statements from its first to its last use."""

    def __init__(self, op: s.Allocate, size: int, home: s.Stmt | None, loops: int) -> None:
        self.op = op
        self.size = size
        self.home = home  # the parallel loop or launch that it cannot leave; None: the function
        self.loops = loops  # the number of loops around it
        self.first: int | None = None
        self.last = -1

    def use(self, first: int, last: int) -> None:
        """In use from one statement to another."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = max(self.last, last)


class _Lives(StmtExprVisitor):
    """Numbers the statements and finds the life of each allocation that may move."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[e.Var, _Life] = {}
        self._now = 0
        self._home: s.Stmt | None = None
        self._loops: list[tuple[int, set[_Life]]] = []  # start, and what is in use throughout

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
        if len(self._loops) > life.loops:
            # from one iteration to the next the memory keeps its values
            start, whole = self._loops[life.loops]
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
        self._loops.append((self._now, set()))
        self.visit_expr(op.condition)
        self.visit_stmt(op.body)
        self._end_loop()

    def _in_loop(self, op: s.Stmt, body: s.Stmt, elsewhere: bool) -> None:
        self._loops.append((self._now, set()))
        if elsewhere:
            self.scope(op, body)
        else:
            self.visit_stmt(body)
        self._end_loop()

    def _end_loop(self) -> None:
        _, whole = self._loops.pop()
        self._now += 1
        for life in whole:
            life.use(self._now, self._now)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self.visit_expr(op.value)
        if op.attr_key in _SCOPES:
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
        size = _constant_size(op)
        if size is not None and op.buffer_var not in self.entries:
            loops = len(self._loops)
            self.entries[op.buffer_var] = _Life(op, size, self._home, loops)
        self.visit_stmt(op.body)


def _constant_size(op: s.Allocate) -> int | None:
    """The number of elements, for memory that is worth moving."""
    if len(op.extents) != 1 or not isinstance(op.extents[0], e.IntImm) or op.annotations:
        return None
    if not ops.is_one(op.condition) or _scope(op) not in ("", "global"):
        return None  # local memory becomes registers, which others share by themselves
    return op.extents[0].value


def _scope(op: s.Allocate) -> str:
    return str(getattr(op.buffer_var.type_annotation, "storage_scope", ""))


class _Shared:
    """Memory for several allocations that are never in use together."""

    def __init__(self, life: _Life) -> None:
        self.var = life.op.buffer_var
        self.first_op = life.op
        self.size = life.size
        self.free_after = life.last

    def allocate(self, body: s.Stmt) -> s.Stmt:
        """The body with the memory."""
        op = self.first_op
        extent = ops.const(self.size, op.extents[0].dtype)
        return s.Allocate(self.var, op.dtype, (extent,), op.condition, body, op.annotations,
                          op.span)  # fmt: skip


class _Plan:
    def __init__(self) -> None:
        self.places: dict[s.Stmt | None, list[_Shared]] = {}
        self.memory: dict[e.Var, _Shared] = {}


def _plan(lives: list[_Life]) -> _Plan:
    plan = _Plan()
    for life in sorted(lives, key=lambda x: (x.first is None, x.first or 0)):
        shared = plan.places.setdefault(life.home, [])
        if life.first is None:
            continue  # nothing uses it
        plan.memory[life.op.buffer_var] = _take(shared, life)
    return plan


def _take(shared: list[_Shared], life: _Life) -> _Shared:
    """Memory that is free by now, of the nearest size; else new memory."""
    assert life.first is not None, "only what is used needs memory"
    free = [
        one for one in shared
        if one.free_after < life.first and one.first_op.dtype is life.op.dtype
    ]  # fmt: skip
    if not free:
        shared.append(_Shared(life))
        return shared[-1]
    best = min(free, key=lambda one: (one.size < life.size, abs(one.size - life.size)))
    best.size = max(best.size, life.size)
    best.free_after = life.last
    return best


class _Rewriter(StmtExprMutator):
    def __init__(self, plan: _Plan) -> None:
        super().__init__()
        self._plan = plan

    def scope(self, home: s.Stmt | None, body: s.Stmt) -> s.Stmt:
        """The body with all memory that it needs in front."""
        new = self.visit_stmt(body)
        for shared in reversed(self._plan.places.get(home, [])):
            new = shared.allocate(new)
        return new

    def visit_var_(self, op: e.Var) -> PrimExpr:
        shared = self._plan.memory.get(op)
        return op if shared is None else shared.var

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        shared = self._plan.memory.get(buffer.data)
        if shared is None or shared.var is buffer.data:
            return buffer
        known = self.buffers.get(buffer)
        if known is None:
            known = buffer.with_changes(data=shared.var)
            self.buffers[buffer] = known
        return known

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        if op.buffer_var in self._plan.memory:
            return self.visit_stmt(op.body)
        return super().visit_allocate_(op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op not in self._plan.places:
            return super().visit_for_(op)
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        body = self.scope(op, op.body)
        return s.For(op.loop_var, low, extent, op.kind, body, op.thread_binding, op.annotations,
                     op.span)  # fmt: skip

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op not in self._plan.places:
            return super().visit_attr_stmt_(op)
        return s.AttrStmt(op.node, op.attr_key, self.visit_expr(op.value),
                          self.scope(op, op.body), op.span)  # fmt: skip
