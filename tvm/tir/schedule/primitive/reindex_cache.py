"""Copies in other memory, laid out by an index map of the block's variables."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar
from tvm.tir.functor import vars_in
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.buffers import with_scope
from tvm.tir.schedule.copied_access import CopiedAccess
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block

READ = kind(
    "ReindexCacheRead", "reindex_cache_read", "block", "=read_buffer_index", "=storage_scope",
    "index_map",
)  # fmt: skip
WRITE = kind(
    "ReindexCacheWrite", "reindex_cache_write", "block", "=write_buffer_index", "=storage_scope",
    "index_map",
)  # fmt: skip


def reindex_cache_read(
    state: SRefTree,
    block: StmtSRef,
    read_buffer_index: int,
    storage_scope: str,
    index_map: IndexMap,
) -> StmtSRef:
    """Copy what the block reads into a buffer laid out as the map says.

    B[i, j] = f(A[i, j])   ->   A_scope[j, i] = A[i, j]; B[i, j] = f(A_scope[j, i])
    """
    return _reindex_cache(state, block, read_buffer_index, storage_scope, index_map, False)


def reindex_cache_write(
    state: SRefTree,
    block: StmtSRef,
    write_buffer_index: int,
    storage_scope: str,
    index_map: IndexMap,
) -> StmtSRef:
    """Let the block write a buffer laid out as the map says, and copy it from there.

    B[i, j] = f(A[i, j])   ->   B_scope[j, i] = f(A[i, j]); B[i, j] = B_scope[j, i]
    """
    return _reindex_cache(state, block, write_buffer_index, storage_scope, index_map, True)


def _reindex_cache(
    state: SRefTree,
    block: StmtSRef,
    index: int,
    storage_scope: str,
    index_map: IndexMap,
    written: bool,
) -> StmtSRef:
    require_scope(storage_scope)
    access = CopiedAccess(state, block, index, written, cached=True)
    node, buffer = access.node, access.buffer
    used = _used_axes(node, access.indices, index_map)
    near = index_map.map_indices([iv.var for iv in node.iter_vars])
    cache = with_scope(buffer, storage_scope, f"{buffer.name}_{storage_scope}").with_changes(
        shape=tuple(_shape(node, index_map)), strides=(), elem_offset=None, axis_separators=()
    )
    return access.through(cache, used, near)


def _used_axes(
    node: Block, indices: Sequence[PrimExpr], index_map: IndexMap
) -> list[IterVar]:
    """The variables that the access depends on; the map uses all of them, and no others.

    A variable of the map on which the access does not depend would give one element several
    elements, of which only the last one written is whole.
    """
    if len(index_map.initial_indices) != len(node.iter_vars):
        raise Illegal(
            f"the map takes {len(index_map.initial_indices)} variables, block {node.name_hint!r} "
            f"has {len(node.iter_vars)}",
            legal="a map of all variables of the block",
            spots=[node],
            fast="The index map has another number of variables than the block",
        )
    names = set(vars_in(*indices))
    mapped = index_map.map_indices([iv.var for iv in node.iter_vars])
    needed = set(vars_in(*mapped))
    lost = names - needed
    if lost:
        raise Illegal(
            f"the map does not use the variables {sorted(v.name for v in lost)}, on which the "
            "index of the access depends",
            legal="a map that uses all variables of the access",
            spots=[node],
            fast="The index map does not cover the access",
        )
    moving = {iv.var for iv in node.iter_vars if iv.dom is None or not is_one(iv.dom.extent)}
    more = (needed - names) & moving
    if more:
        raise Illegal(
            f"the map uses the variables {sorted(v.name for v in more)}, on which the index of "
            "the access does not depend",
            legal="a map of the variables of the access",
            spots=[node],
            fast="The block itervars appeared in lhs and rhs of reindex cache stage do not match",
        )
    return [iv for iv in node.iter_vars if iv.var in names | needed]


def _shape(node: Block, index_map: IndexMap) -> list[PrimExpr]:
    doms = [iv.dom for iv in node.iter_vars if iv.dom is not None]
    return [rng.min + rng.extent for rng in index_map.map_ranges(doms)]
