"""Scratch memory is allocated once, far out, and shared by what is never in use together.

    for i in range(n):                          s = alloc(16)
        a = alloc(16); b = alloc(16)            for i in range(n):
        a[:] = f(i)                      ->         s[:] = f(i)        # a
        c[:] = g(a)                                 c[:] = g(s)
        b[:] = h(c)                                 s[:] = h(c)        # b

Allocations move to the start of the function, of the body of a parallel loop, or of a launch of
threads, if their sizes are known there. Two share memory if they have one type and scope and
constant sizes, and no statement, taking loops as a whole, lies between the first and the last use
of both. Pointers that let statements give to memory of whole vectors become pointers to vectors.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .lifetimes import Life, Lives
from .pass_form import tir_pass
from .pointer_value_type_rewrite import retype_bound_pointers


@tir_pass("tir.StorageRewrite")
def StorageRewrite(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No two allocations of one scope could share memory, as far as that can be seen."""
    lives = Lives(_size)
    lives.scope(None, func.body)
    if lives.entries:
        plan = _plan(list(lives.entries.values()), func.body)
        func = func.with_body(_Rewriter(plan).scope(None, func.body))
    return retype_bound_pointers(func)


_COMPUTED: Final = -1  # a size that is known when the program runs


def _size(op: s.Allocate) -> int | None:
    """The number of elements, for memory that is worth moving."""
    if len(op.extents) != 1 or op.annotations:
        return None
    if not ops.is_one(op.condition) or _scope(op) not in ("", "global"):
        return None  # local memory becomes registers, which others share by themselves
    extent = op.extents[0]
    return extent.value if isinstance(extent, e.IntImm) else _COMPUTED


def _scope(op: s.Allocate) -> str:
    return str(getattr(op.buffer_var.type_annotation, "storage_scope", ""))


class _Shared:
    """Memory for several allocations that are never in use together."""

    def __init__(self, life: Life) -> None:
        self.var = life.op.buffer_var
        self.first_op = life.op
        self.size = life.size
        self.free_after = life.last

    def allocate(self, body: s.Stmt) -> s.Stmt:
        """The body with the memory."""
        op = self.first_op
        extent = op.extents[0]
        if self.size != _COMPUTED:
            extent = ops.const(self.size, extent.dtype)
        return s.Allocate(self.var, op.dtype, (extent,), op.condition, body, op.annotations,
                          op.span)  # fmt: skip


class _Plan:
    def __init__(self) -> None:
        self.places: dict[s.Stmt | None, list[_Shared]] = {}
        self.memory: dict[e.Var, _Shared] = {}


def _plan(lives: list[Life], body: s.Stmt) -> _Plan:
    plan = _Plan()
    for life in sorted(lives, key=lambda x: (x.first is None, x.first or 0)):
        if life.size == _COMPUTED and not _is_known(life, body):
            continue
        shared = plan.places.setdefault(life.home, [])
        if life.first is None:
            continue  # nothing uses it
        plan.memory[life.op.buffer_var] = _take(shared, life)
    return plan


def _is_known(life: Life, body: s.Stmt) -> bool:
    """Whether what the size is computed from is there where the memory moves to."""
    wanted = set()
    for node in walk(life.op.extents[0]):
        if isinstance(node, (e.BufferLoad, e.Call)):
            return False  # which may change on the way
        if isinstance(node, (e.FloorDiv, e.FloorMod, e.Div, e.Mod)) and not ops.literal(node.b):
            return False  # by zero, where a loop around does not run
        if isinstance(node, e.Var):
            wanted.add(node)
    inside = body if life.home is None else life.home.body  # type: ignore[attr-defined]
    return all(_variable_of(node) not in wanted for node in walk(inside))


def _variable_of(node: object) -> e.Var | None:
    """The variable that a statement or expression gives values to."""
    if isinstance(node, s.For):
        return node.loop_var
    if isinstance(node, (s.LetStmt, e.Let)):
        return node.var
    launch = isinstance(node, s.AttrStmt) and isinstance(node.node, e.IterVar)
    return node.node.var if launch else None  # type: ignore[attr-defined]


def _take(shared: list[_Shared], life: Life) -> _Shared:
    """Memory that is free by now, of the nearest size; else new memory."""
    assert life.first is not None, "only what is used needs memory"
    free = [
        one for one in shared
        if one.free_after < life.first and one.first_op.dtype is life.op.dtype
        and _COMPUTED not in (one.size, life.size)
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
