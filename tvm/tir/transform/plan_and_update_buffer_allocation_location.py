"""Each buffer is allocated at the innermost place that surrounds all of its uses.

    B = T.alloc_buffer((16, 16))            for i in range(16):
    for i in range(16):              ->         with T.block():
        ... B[i, 0:16] ...                          B = T.alloc_buffer((16, 16))
                                                    ... B[i, 0:16] ...

The shape stays (`CompactBufferAllocation` shrinks it). A buffer that a block reduces into stays
outside of the loops that reduce, as it carries values from one iteration to the next.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, walk

from .pass_form import tir_pass


@tir_pass("tir.PlanAndUpdateBufferAllocationLocation")
def PlanAndUpdateBufferAllocationLocation(
    func: PrimFunc, mod: IRModule, ctx: PassContext
) -> PrimFunc:
    """No allocation of a block lies further out than the buffer's uses ask for."""
    sites = _Sites()
    sites.visit_stmt(func.body)
    if not sites.allocated:
        return func
    mover = _Mover(sites.places(), func)
    body = mover.visit_stmt(func.body)
    outermost = mover.at(None)
    return func.with_body(mover.opaque_block(body, outermost) if outermost else body)


class _Scope:
    """A loop or block that an allocation can be put into; None stands for the function."""

    __slots__ = ("depth", "parent", "stmt")

    def __init__(self, stmt: s.For | s.Block | None, parent: _Scope | None) -> None:
        self.stmt = stmt
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1


def _common(a: _Scope, b: _Scope) -> _Scope:
    """The innermost scope around both."""
    while a is not b:
        if a.depth < b.depth:
            assert b.parent is not None, "only the function's scope has no parent"
            b = b.parent
        else:
            assert a.parent is not None, "only the function's scope has no parent"
            a = a.parent
    return a


class _Sites(StmtExprVisitor):
    """Finds for each allocated buffer the innermost scope around its uses."""

    def __init__(self) -> None:
        super().__init__()
        self.allocated: list[Buffer] = []
        self._by_data: dict[e.Var, Buffer] = {}
        self._site: dict[Buffer, _Scope] = {}
        self._scope = _Scope(None, None)
        self._loops: dict[e.Var, _Scope] = {}

    def places(self) -> dict[s.For | s.Block | None, list[Buffer]]:
        """The buffers to allocate in each loop, block, or (None) the function."""
        found: dict[s.For | s.Block | None, list[Buffer]] = {}
        for buffer in self.allocated:
            site = self._site.get(buffer)
            if site is not None:  # else nothing uses it
                found.setdefault(_leave_threads(site, buffer.scope()).stmt, []).append(buffer)
        return found

    def _use(self, buffer: Buffer, scope: _Scope) -> None:
        known = self._site.get(buffer)
        self._site[buffer] = scope if known is None else _common(known, scope)

    def visit_buffer_use(self, buffer: Buffer) -> None:
        self._use(buffer, self._scope)

    def visit_var_(self, op: e.Var) -> None:
        buffer = self._by_data.get(op)
        if buffer is not None:
            self._use(buffer, self._scope)

    def visit_buffer_def(self, buffer: Buffer) -> None:
        pass  # the definition of a buffer is no use of it

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        outer, self._scope = self._scope, _Scope(op, self._scope)
        self._loops[op.loop_var] = self._scope
        self.visit_stmt(op.body)
        self._scope = outer

    def visit_block_realize_(self, op: s.BlockRealize) -> None:
        self.visit_exprs(op.iter_values)
        self.visit_expr(op.predicate)
        carrier = self._reducing_loop(op)
        if carrier is not None:
            for region in op.block.writes:
                self._use(region.buffer, carrier)
        outer, self._scope = self._scope, _Scope(op.block, self._scope)
        self.visit_stmt(op.block)
        self._scope = outer

    def _reducing_loop(self, op: s.BlockRealize) -> _Scope | None:
        """The scope around the outermost loop that a reduction variable runs over."""
        found: _Scope | None = None
        for iter_var, value in zip(op.block.iter_vars, op.iter_values):
            if iter_var.iter_type == e.IterVar.DataPar:
                continue
            for node in walk(value):
                loop = self._loops.get(node)
                if loop is not None and (found is None or loop.depth < found.depth):
                    found = loop
        return None if found is None else found.parent

    def visit_block_(self, op: s.Block) -> None:
        for buffer in op.alloc_buffers:
            self.allocated.append(buffer)
            self._by_data[buffer.data] = buffer
        super().visit_block_(op)


def _leave_threads(scope: _Scope, storage: str) -> _Scope:
    """Memory that threads share lies outside of the loops that are bound to them."""
    found = current = scope
    while current.parent is not None:
        stmt = current.stmt
        binding = stmt.thread_binding if isinstance(stmt, s.For) else None
        if binding is not None and _shared_between(binding.thread_tag, storage):
            found = current.parent
        current = current.parent
    return found


def _shared_between(thread_tag: str, storage: str) -> bool:
    if storage in ("", "global"):
        return True
    return storage.startswith("shared") and thread_tag.startswith(("threadIdx", "vthread"))


class _Mover(StmtExprMutator):
    def __init__(self, places: dict[s.For | s.Block | None, list[Buffer]], func: PrimFunc) -> None:
        super().__init__()
        self._places = places
        self._buffers_by_data = {b.data: b for b in func.buffer_map.values()}
        for buffers in places.values():
            self._buffers_by_data.update({b.data: b for b in buffers})

    def at(self, place: s.For | s.Block | None) -> tuple[Buffer, ...]:
        """The buffers to allocate here."""
        return tuple(self._places.get(place, ()))

    def opaque_block(self, body: s.Stmt, buffers: tuple[Buffer, ...]) -> s.Stmt:
        """A block around `body` that allocates the buffers."""
        bare = s.Block((), (), (), "", body, None, buffers, span=body.span)
        reads, writes = (), ()
        block = with_fields(bare, reads=tuple(reads), writes=tuple(writes))
        return s.BlockRealize((), True, block, body.span)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        body = self.visit_stmt(op.body)
        buffers = self.at(op)
        if buffers:
            body = self.opaque_block(body, buffers)
        return with_fields(op, body=body)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        body = self.visit_stmt(op.body)
        init = None if op.init is None else self.visit_stmt(op.init)
        buffers = self.at(op)
        if buffers == op.alloc_buffers:
            buffers = op.alloc_buffers
        if body is op.body and init is op.init and buffers is op.alloc_buffers:
            return op
        return with_fields(op, body=body, init=init, alloc_buffers=buffers)
