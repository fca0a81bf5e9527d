"""Write a buffer through a copy in other memory."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import block_of, buffer_at, scope_of
from tvm.tir.schedule.cached_region import CachedRegion, has_address, written_region
from tvm.tir.schedule.copied_access import require_own_start
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.scopes import (
    ScopeEdit,
    add_before_readers,
    closest_ancestor,
    edit_scope,
    readers_of,
    require_single_writer,
)
from tvm.tir.schedule.tree import SRefTree

KIND = kind(
    "CacheWrite", "cache_write", "block", "=write_buffer_index", "=storage_scope",
    "[consumer_blocks",
)  # fmt: skip


def cache_write(
    state: SRefTree,
    block: StmtSRef,
    write_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[StmtSRef],
) -> StmtSRef:
    """Let the block write a copy, and copy it to the buffer in front of the first other reader.

    Without another reader that is at the end of the scope.

    for i: B[i] = f(A[i])   ->   for i: B_scope[i] = f(A[i])
                                 for ax0: B[ax0] = B_scope[ax0]
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, write_buffer_index, written=True)
    scope = scope_of(block)
    require_single_writer(state, scope, buffer, node)
    require_own_start(node, buffer)
    readers = readers_of(state, scope, block, buffer)
    strangers = [c for c in consumer_blocks if c not in readers]
    if strangers:
        raise Illegal(
            f"block {block_of(strangers[0]).name_hint!r} does not read {buffer.name!r}",
            legal=f"some of {[block_of(r).name_hint for r in readers]}",
            spots=[strangers[0].stmt],
        )
    others = [r for r in readers if r not in consumer_blocks]
    ancestor = closest_ancestor(block, others, scope)
    region = written_region(state, block, buffer, ancestor)
    users = [node, *map(block_of, consumer_blocks)]
    compact = ancestor is scope and not any(has_address(user, buffer) for user in users)
    cached = CachedRegion(buffer, storage_scope, region, compact=compact)
    blocks, reuse = cached.redirect(users)
    nest, copy = cached.written_back()
    edit = ScopeEdit(blocks)
    if others:
        add_before_readers(edit, block, others, scope, nest)
    edit.reuse.update(reuse)
    edit_scope(state, scope, edit, last=() if others else [nest], allocate=[cached.copy])
    return state.get_sref(copy)
