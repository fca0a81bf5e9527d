"""Rewrites shared by primitives; block srefs are tracked through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.ir.expr import PrimExpr, Range
from tvm.support.compiled import mypyc_attr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import ExprLike, IterVar, Var
from tvm.tir.functor import StmtExprMutator
from tvm.tir.stmt import Block, BufferRegion, For, ForKind, MatchBufferRegion, Stmt


@mypyc_attr(allow_interpreted_subclasses=True)
class TrackingMutator(StmtExprMutator):
    """Rewrites statements and remembers in `reuse` what became of each block."""

    def __init__(self) -> None:
        super().__init__()
        self.reuse: dict[Block, Block] = {}

    def visit_block_(self, op: Block) -> Stmt:
        new = super().visit_block_(op)
        if new is not op and isinstance(new, Block):
            self.track(op, new)
        return new

    def track(self, old: Block, new: Block) -> None:
        """`new` stands where `old` stood."""
        self.reuse[old] = new


class TrackingSubstituter(TrackingMutator):
    """Replaces variables by expressions below loops and blocks."""

    def __init__(self, values: Mapping[Var, PrimExpr]) -> None:
        super().__init__()
        self._values = values

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        return buffer if known is None else known


def chain(first: Mapping[Block, Block], second: Mapping[Block, Block]) -> dict[Block, Block]:
    """Where blocks went after two rewrites, one after the other."""
    found = {old: second.get(mid, mid) for old, mid in first.items()}
    mids = set(first.values())
    found.update({mid: new for mid, new in second.items() if mid not in mids})
    return found


_UNSET = object()


def change_block(
    block: Block,
    *,
    iter_vars: Sequence[IterVar] | None = None,
    reads: Sequence[BufferRegion] | None = None,
    writes: Sequence[BufferRegion] | None = None,
    name_hint: str | None = None,
    body: Stmt | None = None,
    init: Stmt | object | None = _UNSET,
    alloc_buffers: Sequence[Buffer] | None = None,
    match_buffers: Sequence[MatchBufferRegion] | None = None,
    annotations: Mapping[str, object] | None = None,
) -> Block:
    """The block with some parts replaced."""
    return Block(
        block.iter_vars if iter_vars is None else iter_vars,
        block.reads if reads is None else reads,
        block.writes if writes is None else writes,
        block.name_hint if name_hint is None else name_hint,
        block.body if body is None else body,
        block.init if init is _UNSET else init,  # type: ignore[arg-type]
        block.alloc_buffers if alloc_buffers is None else alloc_buffers,
        block.match_buffers if match_buffers is None else match_buffers,
        block.annotations if annotations is None else annotations,
        block.span,
    )


def nest(loops: Sequence[tuple[Var, ExprLike]], body: Stmt) -> Stmt:
    """Serial loops from zero around a body, the first one outermost."""
    for var, extent in reversed(loops):
        body = For(var, 0, extent, ForKind.SERIAL, body, span=body.span)
    return body


def change_loop(
    loop: For,
    *,
    body: Stmt | None = None,
    kind: ForKind | None = None,
    thread_binding: IterVar | object | None = _UNSET,
    annotations: Mapping[str, object] | None = None,
) -> For:
    """The loop with some parts replaced."""
    return For(
        loop.loop_var,
        loop.min,
        loop.extent,
        loop.kind if kind is None else kind,
        loop.body if body is None else body,
        loop.thread_binding if thread_binding is _UNSET else thread_binding,  # type: ignore[arg-type]
        loop.annotations if annotations is None else annotations,
        loop.span,
    )


def full_ranges(buffer: Buffer) -> list[Range]:
    """The whole of a buffer."""
    return [Range.from_min_extent(0, extent) for extent in buffer.shape]
