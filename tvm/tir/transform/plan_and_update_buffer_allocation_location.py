"""Each buffer is allocated at the innermost scope that surrounds all of its uses.

    B = T.alloc_buffer((16, 16))            for i in range(16):
    for i in range(16):              ->         with T.block():
        ... B[i, 0:16] ...                          B = T.alloc_buffer((16, 16))
                                                    ... B[i, 0:16] ...

The shape stays (`CompactBufferAllocation` shrinks it). A buffer that a block reduces into stays
outside of the loops that reduce, as it carries values from one iteration to the next. So does one
that an iteration reads before it has written it, where blocks have no variables any more.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import stmt as s
from tvm.tir.analysis import detect_buffer_access_lca
from tvm.tir.analysis.block_access_region import get_block_accesses
from tvm.tir.analysis.carried_values import carries_values
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor

from .pass_form import tir_pass

Site = s.Stmt | None  # a loop, a block, or (None) the function


@tir_pass("tir.PlanAndUpdateBufferAllocationLocation")
def PlanAndUpdateBufferAllocationLocation(
    func: PrimFunc, mod: IRModule, ctx: PassContext, *, regions: bool = True
) -> PrimFunc:
    """No allocation of a block lies further out than the buffer's uses ask for.

    Without `regions`, new blocks do not say what they read and write, which takes time to find out.
    """
    allocated = _Allocated()
    allocated.visit_stmt(func.body)
    if not allocated.buffers:
        return func
    sites = detect_buffer_access_lca(func)
    allocations: dict[Site, list[Buffer]] = {}
    for buffer in allocated.buffers:
        if buffer in sites:  # else nothing uses it
            site = allocated.around_carrying(sites[buffer], buffer)
            site = allocated.around_threads(site, buffer.scope())
            allocations.setdefault(site, []).append(buffer)
    mover = _Mover(allocations, func, regions)
    body = mover.visit_stmt(func.body)
    outermost = mover.at(None)
    return func.with_body(mover.opaque_block(body, outermost) if outermost else body)


class _Allocated(StmtExprVisitor):
    """The buffers that blocks allocate, and what surrounds each loop and block."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: list[Buffer] = []
        self._blocks: dict[Buffer, s.Block] = {}
        self._around: dict[s.Stmt, Site] = {}
        self._current: Site = None

    def visit_expr(self, expr: PrimExpr) -> None:
        pass

    def visit_for_(self, op: s.For) -> None:
        outer, self._around[op], self._current = self._current, self._current, op
        self.visit_stmt(op.body)
        self._current = outer

    def visit_block_(self, op: s.Block) -> None:
        self.buffers.extend(op.alloc_buffers)
        self._blocks.update(dict.fromkeys(op.alloc_buffers, op))
        outer, self._around[op], self._current = self._current, self._current, op
        self.visit_stmt(op.body)
        self._current = outer

    def around_carrying(self, site: Site, buffer: Buffer) -> Site:
        """Out of the loops that take values of the buffer from one iteration to the next."""
        found = current = site
        while current is not None and current is not self._blocks[buffer]:
            carries = isinstance(current, s.For) and carries_values(current, buffer)
            current = self._around[current]
            if carries:
                found = current
        return found

    def around_threads(self, site: Site, storage: str) -> Site:
        """Global memory, which all threads share, lies outside of the loops bound to them."""
        found = current = site
        while current is not None and storage in ("", "global"):
            bound = isinstance(current, s.For) and current.thread_binding is not None
            current = self._around[current]
            if bound:
                found = current
        return found


class _Mover(StmtExprMutator):
    def __init__(
        self, allocations: dict[Site, list[Buffer]], func: PrimFunc, regions: bool
    ) -> None:
        super().__init__()
        self._regions = regions
        self._allocations = allocations
        # what is allocated further in than where the walk stands
        self._elsewhere = {
            b for site, buffers in allocations.items() if site is not None for b in buffers
        }
        self._buffers_by_data = {b.data: b for b in func.buffer_map.values()}
        for buffers in allocations.values():
            self._buffers_by_data.update({b.data: b for b in buffers})

    def at(self, site: Site) -> tuple[Buffer, ...]:
        """The buffers to allocate here."""
        return tuple(self._allocations.get(site, ()))

    def opaque_block(self, body: s.Stmt, buffers: tuple[Buffer, ...]) -> s.Stmt:
        """A block around `body` that allocates the buffers."""
        bare = s.Block((), (), (), "", body, None, buffers, span=body.span)
        if self._regions:
            reads, writes, _ = get_block_accesses(bare, self._buffers_by_data)
            bare = with_fields(bare, reads=tuple(reads), writes=tuple(writes))
        return s.BlockRealize((), True, bare, body.span)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def _inside(self, site: s.For | s.Block, buffers: tuple[Buffer, ...]) -> s.Stmt:
        """The body of a site, which has the buffers that are allocated there."""
        self._elsewhere.difference_update(buffers)
        body = self.visit_stmt(site.body)
        self._elsewhere.update(buffers)
        return body

    def _of_outside(self, regions: tuple[s.BufferRegion, ...]) -> tuple[s.BufferRegion, ...]:
        """The regions of a block without those of what it, or a part of it, allocates now."""
        if all(region.buffer not in self._elsewhere for region in regions):
            return regions
        return tuple([region for region in regions if region.buffer not in self._elsewhere])

    def visit_for_(self, op: s.For) -> s.Stmt:
        buffers = self.at(op)
        body = self._inside(op, buffers)
        if buffers:
            body = self.opaque_block(body, buffers)
        return with_fields(op, body=body)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        buffers = self.at(op)
        body = self._inside(op, buffers)
        init = None if op.init is None else self.visit_stmt(op.init)
        reads, writes = self._of_outside(op.reads), self._of_outside(op.writes)
        if buffers == op.alloc_buffers:
            buffers = op.alloc_buffers
        return with_fields(
            op, body=body, init=init, alloc_buffers=buffers, reads=reads, writes=writes
        )
