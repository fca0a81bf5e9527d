"""Lay a buffer out in another way."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm
from tvm.tir.functor import walk
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule.analysis.affine import bind_place
from tvm.tir.schedule.analysis.query import block_of, buffer_at, defining_site
from tvm.tir.schedule.buffers import BufferReplacer, replace_buffers
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BufferRegion, BufferStore, For, Stmt

KIND = kind(
    "TransformLayout", "transform_layout", "block", "@buffer", "=index_map", "=pad_value",
    "=assume_injective_transform",
)  # fmt: skip


def transform_layout(
    state: SRefTree,
    block: StmtSRef,
    buffer: tuple[str, int],
    index_map: IndexMap,
    pad_value: IndexMap | None,
    assume_injective_transform: bool,
) -> None:
    """Change the buffer's shape and each access of it. The layout of a parameter changes for the
    caller too.

    B[i, j]  ->  B[i // 4, j, i % 4]      (lambda i, j: [i // 4, j, i % 4])
    """
    old = buffer_at(block_of(block), buffer[1], written=buffer[0] == "write")
    padding = None
    if not assume_injective_transform:
        padding = _require_injective(index_map, old, block)
    new = old.with_changes(shape=tuple(index_map.map_shape(list(old.shape))), strides=())
    site, allocated = defining_site(state, block, old)
    if padding is not None and pad_value is not None:
        _refuse_padding(block, old, pad_value, padding)
    rule = LayoutRewriter(old, new, index_map)
    replace_buffers(state, site, rule, None if allocated else {old: new})


def _require_injective(index_map: IndexMap, buffer: Buffer, block: StmtSRef) -> PrimExpr | None:
    """The condition for padding, None without padding; refused if two elements would collide."""
    try:
        _, padding = index_map.non_surjective_inverse(list(buffer.shape))
    except RuntimeError as err:
        raise Illegal(
            f"the map {index_map} of buffer {buffer.name!r} is not injective",
            legal="a map that gives each element a place of its own "
            "(or assume_injective_transform=True)",
            spots=[block.stmt],
            fast="The index map is not invertible",
        ) from err
    return None if isinstance(padding, IntImm) and padding.value == 0 else padding


def _refuse_padding(
    block: StmtSRef, buffer: Buffer, pad_value: IndexMap, padding: PrimExpr
) -> None:
    values = pad_value.final_indices
    assumed = len(values) == 1 and any(
        isinstance(node, BufferLoad) and node.buffer is buffer for node in walk(values[0])
    )
    if not assumed:
        raise Illegal(
            f"the new layout of {buffer.name!r} has padding where {padding}, and a value for it is "
            "asked for",
            legal="pad_value=None, which leaves the padding undefined",
            spots=[block.stmt],
            fast="The padded transform needs a value that this block cannot write",
        )


class LayoutRewriter(BufferReplacer):
    """Maps the indices of a buffer wherever it is used."""

    def __init__(self, old: Buffer, new: Buffer, index_map: IndexMap) -> None:
        super().__init__({old: new})
        self._old, self._new, self._map = old, new, index_map
        self._analyzer = Analyzer()

    def _mapped(self, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        typed = self._map.map_indices(list(self.visit_exprs(indices)), self._analyzer)
        dtype = indices[0].dtype if indices else None
        return [i if dtype is None or i.dtype is dtype else i.astype(dtype) for i in typed]

    def visit_for_(self, op: For) -> Stmt:
        bind_place(self._analyzer, op)
        return super().visit_for_(op)

    def visit_block_(self, op: Block) -> Stmt:
        bind_place(self._analyzer, op)
        return super().visit_block_(op)

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._old:
            return super().visit_buffer_load_(op)
        return BufferLoad(self._new, self._mapped(op.indices), op.predicate, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer is not self._old:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        return BufferStore(self._new, value, self._mapped(op.indices), op.predicate, op.span)

    def visit_region(self, region: BufferRegion) -> BufferRegion:
        if region.buffer is not self._old:
            return super().visit_region(region)
        mapped = map_region(region.region, self._map, self._analyzer)
        if mapped is None:
            return BufferRegion.full_region(self._new)
        return BufferRegion(self._new, mapped)


def map_region(
    region: Sequence[Range], index_map: IndexMap, analyzer: Analyzer
) -> list[Range] | None:
    """The box of a region in the new layout; None where nothing less than all is known."""
    if all(isinstance(r.extent, IntImm) and r.extent.value == 1 for r in region):
        dtype = region[0].min.dtype if region else None
        points = index_map.map_indices([r.min for r in region], analyzer)
        return [
            Range.from_min_extent(p if dtype is None or p.dtype is dtype else p.astype(dtype), 1)
            for p in points
        ]
    plain = all(any(f is v for v in index_map.initial_indices) for f in index_map.final_indices)
    if plain:
        places = {v: r for v, r in zip(index_map.initial_indices, region)}
        return [places[f] for f in index_map.final_indices]  # type: ignore[index]
    return None
