"""Read a buffer through a copy in other memory."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.affine import analyzer_at, bound_region, loop_ranges, relax_upper
from tvm.tir.schedule.analysis.query import (
    block_of,
    buffer_at,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.buffers import BufferReplacer, with_scope
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.rebuild import full_ranges
from tvm.tir.schedule.scopes import (
    ScopeEdit,
    closest_place,
    copy_nest,
    edit_scope,
    place_below,
    require_single_writer,
)
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, For, Stmt

KIND = kind(
    "CacheRead", "cache_read", "block", "=read_buffer_index", "=storage_scope",
    "[consumer_blocks",
)  # fmt: skip


def cache_read(
    state: SRefTree,
    block: StmtSRef,
    read_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[StmtSRef],
) -> StmtSRef:
    """Copy the buffer before it is read, and let the consumers (by default all) read the copy.

    for i: B[i] = f(A[i])   ->   for ax0: A_scope[ax0] = A[ax0]
                                 for i: B[i] = f(A_scope[i])
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, read_buffer_index, written=False)
    scope = scope_of(block)
    writer = require_single_writer(state, scope, buffer, node)
    cache = cache_of(buffer, storage_scope)
    readers = _readers(state, scope, buffer, writer, consumer_blocks)
    blocks, reuse = redirect([block_of(r) for r in readers], buffer, cache)
    if writer is None:
        nest, copy = copy_nest(buffer, cache, full_ranges(buffer), cache.name)
        edit = ScopeEdit(blocks)
        first: list[Stmt] = [nest]
    else:
        place = closest_place(writer, readers, scope)
        region = written_region(state, writer, buffer, place)
        nest, copy = copy_nest(buffer, cache, region, cache.name)
        anchor = place_below(place, writer).stmt
        assert anchor is not None, "a place on the way"
        edit = ScopeEdit(blocks, after={anchor: [nest]})
        first = []
    edit.reuse.update(reuse)
    edit_scope(state, scope, edit, first=first, allocate=[cache])
    return state.get_sref(copy)


def cache_of(buffer: Buffer, storage_scope: str) -> Buffer:
    """A dense buffer of the same shape in other memory."""
    moved = with_scope(buffer, storage_scope, f"{buffer.name}_{storage_scope}")
    return moved.with_changes(strides=(), elem_offset=None)


def redirect(
    blocks: Sequence[Block], old: Buffer, new: Buffer
) -> tuple[dict[Block, Block], dict[Block, Block]]:
    """Blocks that use another buffer, and what became of the blocks within them."""
    changed: dict[Block, Block] = {}
    reuse: dict[Block, Block] = {}
    for block in blocks:
        rule = BufferReplacer({old: new})
        result = rule.visit_stmt(block)
        assert isinstance(result, Block), "a block stays a block"
        changed[block] = result
        reuse.update(rule.reuse)
    return changed, reuse


def _readers(
    state: SRefTree,
    scope: StmtSRef,
    buffer: Buffer,
    writer: StmtSRef | None,
    wanted: Sequence[StmtSRef],
) -> list[StmtSRef]:
    found = [
        child
        for child in state.get_block_scope(scope).children
        if child is not writer and any(r.buffer is buffer for r in block_of(child).reads)
    ]
    if not wanted:
        return found
    chosen = set(wanted)
    kept = [child for child in found if child in chosen]
    if len(kept) != len(chosen):
        raise Illegal(
            f"not all of the consumer blocks read {buffer.name!r} in this scope",
            legal=f"some of {[block_of(c).name_hint for c in found]}",
            spots=[block_of(w) for w in wanted],
        )
    return kept


def written_region(
    state: SRefTree, writer: StmtSRef, buffer: Buffer, place: StmtSRef
) -> list[Range]:
    """What a block writes of a buffer while the loops below `place` run, as a box."""
    realize = realize_of(state, writer)
    region = next(w for w in realize.block.writes if w.buffer is buffer)
    loops: list[StmtSRef] = []
    around = writer.parent
    while around is not None and around is not place:
        if isinstance(around.stmt, For):
            loops.append(around)
        around = around.parent
    analyzer = analyzer_at(place)
    box = relax_upper(bound_region(region, realize), loop_ranges(loops), buffer.shape, analyzer)
    return [
        cut_to(analyzer, low, high, extent)
        for low, high, extent in zip(box.low, box.high, buffer.shape)
    ]


def cut_to(analyzer: Analyzer, low: PrimExpr, high: PrimExpr, extent: PrimExpr) -> Range:
    """The range from `low` to `high`, cut to [0, extent) where it may reach over."""
    if not analyzer.can_prove(high < extent):
        high = extent - 1
    if not analyzer.can_prove(low >= 0):
        low = extent * 0
    return Range.from_min_extent(analyzer.simplify(low), analyzer.simplify(high - low + 1))
