"""Write a buffer through a copy in other memory."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import block_of, buffer_at, scope_of
from tvm.tir.schedule.cached_region import CachedRegion, has_address, written_region
from tvm.tir.schedule.copied_access import require_own_start
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.scopes import ScopeEdit, edit_scope
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.schedule.write_back import WriteBack, users_around

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
    """Let the block write a copy, and copy it to the buffer in front of who needs it first.

    WriteBack tells where that is.

    for i: B[i] = f(A[i])   ->   for i: B_scope[i] = f(A[i])
                                 for ax0: B[ax0] = B_scope[ax0]
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, write_buffer_index, written=True)
    scope = scope_of(block)
    require_own_start(node, buffer)
    consumers = _consumers(state, scope, buffer, block, consumer_blocks)
    back = WriteBack(state, scope, block, buffer, consumers)
    region = written_region(state, block, buffer, back.ancestor)
    users = [node, *map(block_of, consumers)]
    compact = back.ancestor is scope and not any(has_address(user, buffer) for user in users)
    cached = CachedRegion(buffer, storage_scope, region, compact=compact)
    blocks, reuse = cached.redirect(users)
    nest, copy = cached.written_back()
    edit = ScopeEdit(blocks)
    last = back.add(edit, nest)
    edit.reuse.update(reuse)
    edit_scope(state, scope, edit, last=last, allocate=[cached.copy])
    return state.get_sref(copy)


def _consumers(
    state: SRefTree,
    scope: StmtSRef,
    buffer: Buffer,
    block: StmtSRef,
    wanted: Sequence[StmtSRef],
) -> list[StmtSRef]:
    """Who is to read the copy; the block itself, which may be among those asked for, does."""
    _, later = users_around(state, scope, block, buffer)
    found: list[StmtSRef] = []
    for user in later:
        if any(w.buffer is buffer for w in block_of(user).writes):
            break  # from here on it is another value
        found.append(user)
    strangers = [c for c in wanted if c is not block and c not in found]
    if strangers:
        raise Illegal(
            f"block {block_of(strangers[0]).name_hint!r} does not read {buffer.name!r} as block "
            f"{block_of(block).name_hint!r} writes it",
            legal=f"some of {[block_of(r).name_hint for r in found]}",
            spots=[strangers[0].stmt],
        )
    return [c for c in wanted if c is not block]
