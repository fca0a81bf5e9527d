"""Access a buffer through a copy that is indexed by the block's variables."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IterVar, Var
from tvm.tir.functor import substitute, walk
from tvm.tir.schedule.analysis.query import block_of, buffer_at, scope_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
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
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Stmt,
)

KIND = kind("ReIndex", "reindex", "block", "@buffer")


def reindex(state: SRefTree, block: StmtSRef, buffer: tuple[str, int]) -> StmtSRef:
    """Make a buffer with one dimension for each block variable that the access uses, and the copy.

    C[i] += A[i * 2 + k]   ->   A_reindex[i, k] = A[i * 2 + k]
                                C[i] += A_reindex[i, k]
    """
    node = block_of(block)
    written = buffer[0] == "write"
    target = buffer_at(node, buffer[1], written=written)
    scope = scope_of(block)
    writer = require_single_writer(state, scope, target, node)
    require_apart(state, scope, block, writer, target)
    indices = _one_access(node, target)
    require_own_indices(node, target, indices, read=not written)
    used = {part for index in indices for part in walk(index) if isinstance(part, Var)}
    axes = [iv for iv in node.iter_vars if iv.var in used]
    copy = _reindexed(target, axes)
    rule = _Redirect(target, copy, [iv.var for iv in axes])
    new = rule.visit_stmt(node)
    assert isinstance(new, Block), "a block stays a block"
    nest_, made = _copy(target, copy, axes, indices, written)
    top = place_below(scope, block).stmt
    assert top is not None, "a place in the scope"
    if written:
        edit = ScopeEdit({node: new}, after={top: [nest_]})
        first: list[Stmt] = []
    elif writer is not None:
        anchor = place_below(scope, writer).stmt
        assert anchor is not None, "a place in the scope"
        edit = ScopeEdit({node: new}, after={anchor: [nest_]})
        first = []
    else:
        edit, first = ScopeEdit({node: new}), [nest_]
    edit_scope(state, scope, edit, first=first, allocate=[copy])
    return state.get_sref(made)


def _one_access(node: Block, buffer: Buffer) -> tuple[PrimExpr, ...]:
    """The indices of all accesses of a buffer; refused if they differ."""
    found: list[tuple[PrimExpr, ...]] = []
    for stmt in (node.body, node.init):
        for part in () if stmt is None else walk(stmt):
            if isinstance(part, (BufferLoad, BufferStore)) and part.buffer is buffer:
                found.append(part.indices)
    first = found[0] if found else None
    if first is None or any(not _equal(first, other) for other in found[1:]):
        raise Illegal(
            f"block {node.name_hint!r} accesses {buffer.name!r} at several places",
            legal="a buffer that the block accesses at one place",
            spots=[node],
            fast="The buffer is accessed with multiple different indices",
        )
    return first


def _equal(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    analyzer = Analyzer()
    return all(x is y or analyzer.can_prove_equal(x, y) for x, y in zip(a, b))


def _reindexed(buffer: Buffer, axes: Sequence[IterVar]) -> Buffer:
    kept = buffer.data.type_annotation
    assert isinstance(kept, PointerType), "the constructor of Buffer made sure"
    name = f"{buffer.name}_reindex"
    shape = [iv.dom.extent for iv in axes if iv.dom is not None]
    data = Var(name, PointerType(kept.element_type, buffer.scope()))
    return buffer.with_changes(
        data=data, name=name, shape=tuple(shape), strides=(), elem_offset=None, axis_separators=()
    )


class _Redirect(TrackingMutator):
    """Accesses the new buffer at the block's variables."""

    def __init__(self, old: Buffer, new: Buffer, indices: Sequence[Var]) -> None:
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
    copy: Buffer,
    axes: Sequence[IterVar],
    indices: Sequence[PrimExpr],
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
    near = [iv.var for iv in iter_vars]
    far = substitute(list(indices), renamed)
    source, source_indices = (copy, near) if written else (buffer, far)
    target, target_indices = (buffer, far) if written else (copy, near)
    block = Block(
        iter_vars,
        [BufferRegion.from_point(source, source_indices)],
        [BufferRegion.from_point(target, target_indices)],
        copy.name,
        BufferStore(target, BufferLoad(source, source_indices), target_indices),
    )
    return nest(loops, BlockRealize(values, TRUE, block)), block
