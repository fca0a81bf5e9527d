"""Update a buffer through a copy in other memory: read before, written back after."""

from __future__ import annotations

from tvm.arith.deep_equal import deep_equal
from tvm.ir.expr import Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import block_of, buffer_at, scope_of
from tvm.tir.schedule.cached_region import CachedRegion, read_region, written_region
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.rebuild import full_ranges
from tvm.tir.schedule.scopes import ScopeEdit, edit_scope
from tvm.tir.schedule.tree import SRefTree

KIND = kind(
    "CacheInplace", "cache_inplace", "block", "=read_buffer_index", "=storage_scope", many=True
)  # fmt: skip


def cache_inplace(
    state: SRefTree, block: StmtSRef, read_buffer_index: int, storage_scope: str
) -> list[StmtSRef]:
    """Copy in what the block updates, let the block work on the copy, and copy it out.

    The copies stand directly around the block, in its innermost loop.

    A[i] = f(A[i])   ->   A_scope[i] = A[i]; A_scope[i] = f(A_scope[i]); A[i] = A_scope[i]
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, read_buffer_index, written=False)
    if not any(w.buffer is buffer for w in node.writes):
        raise Illegal(
            f"block {node.name_hint!r} does not write {buffer.name!r}",
            legal="a buffer that the block both reads and writes",
            spots=[node],
            fast="The target block does not both read & write target buffer.",
            detail="The target block {0} does not both read & write target buffer.",
        )
    scope = scope_of(block)
    region = _updated_region(state, block, buffer)
    cached = CachedRegion(buffer, storage_scope, region, compact=False)
    blocks, reuse = cached.redirect([node])
    copy_in, read = cached.filled()
    copy_out, write = cached.written_back()
    edit = ScopeEdit(blocks, {node: [copy_in]}, {node: [copy_out]})
    edit.reuse.update(reuse)
    edit_scope(state, scope, edit, allocate=[cached.copy])
    return [state.get_sref(read), state.get_sref(write)]


def _updated_region(state: SRefTree, block: StmtSRef, buffer: Buffer) -> list[Range]:
    """What one run of a block reads of a buffer, and writes; all of it where these differ."""
    around = block.parent
    assert around is not None, "an sref in a scope"
    read = read_region(state, block, buffer, around)
    written = written_region(state, block, buffer, around)
    same = all(
        deep_equal(a.min, b.min) and deep_equal(a.extent, b.extent) for a, b in zip(read, written)
    )
    return read if same else full_ranges(buffer)
