"""Copies in other memory, laid out by an index map of the block's variables."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IterVar, Var
from tvm.tir.functor import substitute, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule.analysis.query import block_of, buffer_at, scope_of
from tvm.tir.schedule.buffers import with_scope
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.rebuild import TrackingMutator, nest
from tvm.tir.schedule.scopes import (
    TRUE,
    ScopeEdit,
    edit_scope,
    place_below,
    require_apart,
    require_own_indices,
    require_single_writer,
)
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, Stmt

READ = kind(
    "ReindexCacheRead", "reindex_cache_read", "block", "=read_buffer_index", "=storage_scope",
    "=index_map",
)  # fmt: skip
WRITE = kind(
    "ReindexCacheWrite", "reindex_cache_write", "block", "=write_buffer_index", "=storage_scope",
    "=index_map",
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
    node = block_of(block)
    buffer = buffer_at(node, index, written=written)
    scope = scope_of(block)
    writer = require_single_writer(state, scope, buffer, node)
    require_apart(state, scope, block, writer, buffer)
    place = _one_place(node, buffer, written)
    require_own_indices(node, buffer, place, read=not written)
    used = _used_axes(node, place, index_map)
    near = index_map.map_indices([iv.var for iv in node.iter_vars])
    shape = _shape(node, index_map)
    cache = with_scope(buffer, storage_scope, f"{buffer.name}_{storage_scope}").with_changes(
        shape=tuple(shape), strides=(), elem_offset=None, axis_separators=()
    )
    rule = _Redirect(buffer, cache, near)
    new = rule.visit_stmt(node)
    assert isinstance(new, Block), "a block stays a block"
    copy, made = _copy(buffer, cache, used, place, near, written)
    top = place_below(scope, block).stmt
    assert top is not None, "a place in the scope"
    first: list[Stmt] = []
    if written:
        edit = ScopeEdit({node: new}, after={top: [copy]})
    elif writer is not None:
        anchor = place_below(scope, writer).stmt
        assert anchor is not None, "a place in the scope"
        edit = ScopeEdit({node: new}, after={anchor: [copy]})
    else:
        edit, first = ScopeEdit({node: new}), [copy]
    edit_scope(state, scope, edit, first=first, allocate=[cache])
    return state.get_sref(made)


def _one_place(node: Block, buffer: Buffer, written: bool) -> tuple[PrimExpr, ...]:
    found = [
        n.indices
        for s in (node.body, node.init)
        for n in (() if s is None else walk(s))
        if isinstance(n, (BufferLoad, BufferStore)) and n.buffer is buffer
    ]
    analyzer = Analyzer()
    first = found[0] if found else None
    alike = first is not None and all(
        all(a is b or analyzer.can_prove_equal(a, b) for a, b in zip(first, other))
        for other in found[1:]
    )
    if first is None or not alike:
        raise Illegal(
            f"block {node.name_hint!r} accesses {buffer.name!r} at several places",
            legal="a buffer that the block accesses at one place",
            spots=[node],
            fast="The buffer is accessed with multiple different indices",
        )
    return first


def _used_axes(
    node: Block, place: Sequence[PrimExpr], index_map: IndexMap
) -> list[IterVar]:
    """The variables that the access depends on; the map must not use others."""
    names = {n for index in place for n in walk(index) if isinstance(n, Var)}
    mapped = index_map.map_indices([iv.var for iv in node.iter_vars])
    needed = {n for index in mapped for n in walk(index) if isinstance(n, Var)}
    lost = names - needed
    if lost:
        raise Illegal(
            f"the map does not use the variables {sorted(v.name for v in lost)}, on which the "
            "place of the access depends",
            legal="a map that uses all variables of the access",
            spots=[node],
            fast="The index map does not cover the access",
        )
    return [iv for iv in node.iter_vars if iv.var in names | needed]


def _shape(node: Block, index_map: IndexMap) -> list[PrimExpr]:
    doms = [iv.dom for iv in node.iter_vars if iv.dom is not None]
    return [rng.min + rng.extent for rng in index_map.map_ranges(doms)]


class _Redirect(TrackingMutator):
    """Accesses the new buffer at mapped places."""

    def __init__(self, old: Buffer, new: Buffer, indices: Sequence[PrimExpr]) -> None:
        super().__init__()
        self._old, self._new, self._indices = old, new, list(indices)

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._old:
            return super().visit_buffer_load_(op)
        return BufferLoad(self._new, self._indices, op.predicate, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer is not self._old:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        return BufferStore(self._new, value, self._indices, op.predicate, op.span)

    def visit_region(self, region: BufferRegion) -> BufferRegion:
        if region.buffer is not self._old:
            return super().visit_region(region)
        return BufferRegion.from_point(self._new, self._indices)


def _copy(
    buffer: Buffer,
    cache: Buffer,
    axes: Sequence[IterVar],
    place: Sequence[PrimExpr],
    near: Sequence[PrimExpr],
    written: bool,
) -> tuple[Stmt, Block]:
    iter_vars: list[IterVar] = []
    loops: list[tuple[Var, PrimExpr]] = []
    values: list[PrimExpr] = []
    renamed: dict[Var, PrimExpr] = {}
    for i, iv in enumerate(axes):
        assert iv.dom is not None, "block variables have domains"
        loop, var = Var(f"ax{i}", iv.var.dtype), Var(f"v{i}", iv.var.dtype)
        loops.append((loop, iv.dom.extent))
        values.append(iv.dom.min + loop)
        renamed[iv.var] = var
        iter_vars.append(IterVar(Range.from_min_extent(iv.dom.min, iv.dom.extent), var, 0))
    far, close = substitute(list(place), renamed), substitute(list(near), renamed)
    source, at = (cache, close) if written else (buffer, far)
    target, to = (buffer, far) if written else (cache, close)
    block = Block(
        iter_vars,
        [BufferRegion.from_point(source, at)],
        [BufferRegion.from_point(target, to)],
        cache.name,
        BufferStore(target, BufferLoad(source, at), to),
    )
    return nest(loops, BlockRealize(values, TRUE, block)), block
