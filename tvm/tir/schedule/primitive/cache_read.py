"""Read a buffer through a copy in other memory."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import (
    block_of,
    buffer_at,
    scope_of,
)
from tvm.tir.schedule.cached_region import (
    CachedRegion,
    declared_region,
    has_address,
    written_region,
)
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.scopes import (
    ScopeEdit,
    add_before_readers,
    closest_ancestor,
    edit_scope,
    require_single_writer,
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
    what only the block itself reads at the end.

    for i: B[i] = f(A[i])   ->   for ax0: A_scope[ax0] = A[ax0]
                                 for i: B[i] = f(A_scope[i])
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, read_buffer_index, written=False)
    scope = scope_of(block)
    writer = require_single_writer(state, scope, buffer, node)
    if writer is not None and not _comes_before(state, scope, writer, block):
        writer = None  # it overwrites what was given from outside
    readers = _readers(state, scope, buffer, writer, consumer_blocks)
    ancestor = scope if writer is None else closest_ancestor(writer, readers, scope)
    if writer is None:
        region = declared_region(state, scope, buffer)
    else:
        region = written_region(state, writer, buffer, ancestor)
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


def _comes_before(state: SRefTree, scope: StmtSRef, a: StmtSRef, b: StmtSRef) -> bool:
    children = state.get_block_scope(scope).children
    return a is b or children.index(a) < children.index(b)


def _readers(
    state: SRefTree,
    scope: StmtSRef,
    buffer: Buffer,
    writer: StmtSRef | None,
    wanted: Sequence[StmtSRef],
) -> list[StmtSRef]:
    children = state.get_block_scope(scope).children
    writes = state.get_block_scope(scope).buffer_writers.get(buffer, [])
    overwritten = writes[0] if writer is None and writes else None
    if overwritten is not None:
        children = children[: children.index(overwritten)]
    found = [
        child
        for child in children
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
