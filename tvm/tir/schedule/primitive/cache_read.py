"""Read a buffer through a copy in other memory."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import block_of, buffer_at, is_ancestor, scope_of
from tvm.tir.schedule.cached_region import (
    CachedRegion,
    declared_region,
    guarded_analyzer_at,
    has_address,
    is_within,
    read_region,
    reads_before_write,
    written_region,
)
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.rebuild import full_ranges
from tvm.tir.schedule.scopes import (
    ScopeEdit,
    add_before_readers,
    closest_ancestor,
    common_ancestor,
    edit_scope,
    writers_around,
)
from tvm.tir.schedule.tree import SRefTree

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

    What comes from outside is copied first of all, what a block writes before its first reader, and
    what only the block itself reads at the end. Of several writers the last one up to the block
    counts; who reads after the next one reads no copy.

    for i: B[i] = f(A[i])   ->   for ax0: A_scope[ax0] = A[ax0]
                                 for i: B[i] = f(A_scope[i])
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, read_buffer_index, written=False)
    scope = scope_of(block)
    before, after = writers_around(state, scope, buffer, block)
    writer = before[-1] if before else None  # without one, it is read as given from outside
    end = after[0] if after else None
    readers = _readers(state, scope, buffer, writer, end, consumer_blocks)
    ancestor = scope if writer is None else closest_ancestor(writer, readers, scope)
    if writer is None:
        region = declared_region(state, scope, buffer)
    else:
        region = written_region(state, writer, buffer, ancestor)
    if len(before) != 1:
        region = _with_all_that_is_read(state, buffer, region, readers, ancestor, scope)
    _require_copy_up_to_date(state, scope, buffer, readers, ancestor)
    users = [block_of(reader) for reader in readers]
    compact = ancestor is scope and not any(has_address(user, buffer) for user in users)
    cached = CachedRegion(buffer, storage_scope, region, compact=compact)
    blocks, reuse = cached.redirect(users)
    nest, copy = cached.filled()
    edit = ScopeEdit(blocks)
    first = [nest] if writer is None else []
    last = [] if writer is None or readers else [nest]  # only the writer itself reads the buffer
    if writer is not None and readers:
        add_before_readers(edit, writer, readers, scope, nest)
    edit.reuse.update(reuse)
    edit_scope(state, scope, edit, first=first, last=last, allocate=[cached.copy])
    return state.get_sref(copy)


def _with_all_that_is_read(
    state: SRefTree,
    buffer: Buffer,
    region: list[Range],
    readers: Sequence[StmtSRef],
    ancestor: StmtSRef,
    scope: StmtSRef,
) -> list[Range]:
    """The region, or all of the buffer where the writer did not make all that is read."""
    analyzer = guarded_analyzer_at(state, ancestor)
    for reader in readers:
        if is_within(analyzer, read_region(state, reader, buffer, ancestor), region):
            continue
        if ancestor is scope:
            return full_ranges(buffer)
        raise Illegal(
            f"block {block_of(reader).name_hint!r} reads parts of {buffer.name!r} that several "
            "blocks write, one of them in the same loop",
            legal="blocks in loop nests of their own (before compute_at)",
            spots=[block_of(reader)],
        )
    return region


def _require_copy_up_to_date(
    state: SRefTree,
    scope: StmtSRef,
    buffer: Buffer,
    readers: Sequence[StmtSRef],
    ancestor: StmtSRef,
) -> None:
    """Refuse where the buffer is written between the copy, below `ancestor`, and who reads it."""
    for reader in readers:
        for writer in state.get_block_scope(scope).buffer_writers.get(buffer, []):
            shared = common_ancestor([reader, writer])
            if shared is ancestor or not is_ancestor(ancestor, shared):
                continue
            if not reads_before_write(state, reader, writer, buffer, ancestor, shared):
                raise Illegal(
                    f"block {block_of(writer).name_hint!r} writes {buffer.name!r} in a loop that "
                    f"it shares with block {block_of(reader).name_hint!r}, which reads it there",
                    legal="blocks in loop nests of their own (before compute_at)",
                    spots=[block_of(reader), block_of(writer)],
                )


def _readers(
    state: SRefTree,
    scope: StmtSRef,
    buffer: Buffer,
    writer: StmtSRef | None,
    end: StmtSRef | None,
    wanted: Sequence[StmtSRef],
) -> list[StmtSRef]:
    """Who reads what the writer left, in order: up to the next writer, `end`."""
    children = state.get_block_scope(scope).children
    start = 0 if writer is None else children.index(writer) + 1
    found = [
        child
        for child in children[start : len(children) if end is None else children.index(end)]
        if any(r.buffer is buffer for r in block_of(child).reads)
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
