"""Lay a buffer out in another way."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer, IntervalSet
from tvm.arith.int_set import eval_set
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, Var
from tvm.tir.functor import substitute, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule.analysis.affine import bind_vars_of
from tvm.tir.schedule.analysis.query import block_of, buffer_at, defining_site
from tvm.tir.schedule.buffers import BufferReplacer, replace_buffers
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.padding import Padding, fill, promise, widen_writer, writer_to_widen
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BufferRegion, BufferStore, For, Stmt

KIND = kind(
    "TransformLayout", "transform_layout", "block", "@buffer", "index_map", "=pad_value",
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
    caller too. Where the new shape has room for more elements, `pad_value` says what they are;
    without one such a map is refused.

    B[i, j]  ->  B[i // 4, j, i % 4]      (lambda i, j: [i // 4, j, i % 4])
    """
    old = buffer_at(block_of(block), buffer[1], written=buffer[0] == "write")
    inverse = None
    if not assume_injective_transform:
        inverse = _require_injective(index_map, old, block)
    new = old.with_changes(shape=tuple(index_map.map_shape(list(old.shape))), strides=())
    site, allocated = defining_site(state, block, old)
    padding = None
    if inverse is not None and pad_value is None:
        lanes = [Var(f"axis{i}", v.dtype) for i, v in enumerate(inverse[0].initial_indices)]
        where = substitute(inverse[1], dict(zip(inverse[0].initial_indices, lanes)))
        raise Illegal(
            f"the map {index_map} leaves elements of the new {old.name!r} that hold nothing",
            legal="a pad_value, or assume_injective_transform=True",
            spots=[block.stmt],
            fast=f"Transformation would introduce padding at {where}.",
            detail=f"The transformation {index_map} applied on buffer {old.name} of shape "
            f"{[*old.shape]} would result in shape {[*new.shape]}.  However, this would introduce "
            f"padding wherever {where} is true.",
        )
    if inverse is not None and pad_value is not None and not _keeps(block, old, pad_value):
        padding = Padding(new, *inverse, pad_value)
    writers = list(state.get_block_scope(site).buffer_writers.get(old, []))
    wide = writer_to_widen(state, site, old) if padding is not None else None
    rule = LayoutRewriter(old, new, index_map)
    replace_buffers(state, site, rule, None if allocated else {old: new})
    if padding is None:
        return
    if wide is not None:
        widen_writer(state, wide, padding)
    elif writers or allocated:
        fill(state, site, padding)
    else:
        promise(state, site, padding)


def _require_injective(
    index_map: IndexMap, buffer: Buffer, block: StmtSRef
) -> tuple[IndexMap, PrimExpr] | None:
    """The way back and the condition for padding, None without padding; refused if two elements
    would collide.
    """
    try:
        back, padding = index_map.non_surjective_inverse(list(buffer.shape))
    except RuntimeError as err:
        raise Illegal(
            f"the map {index_map} of buffer {buffer.name!r} is not injective",
            legal="a map that gives each element an index of its own "
            "(or assume_injective_transform=True)",
            spots=[block.stmt],
            fast="The index map is not invertible",
        ) from err
    return None if isinstance(padding, IntImm) and padding.value == 0 else (back, padding)


def _keeps(block: StmtSRef, buffer: Buffer, pad_value: IndexMap) -> bool:
    """True if the value of the padding is what the buffer holds there; others are refused."""
    loads = [n for n in walk(pad_value.final_indices[0]) if isinstance(n, BufferLoad)]
    for load in loads:
        if load.buffer is not buffer:
            raise Illegal(
                f"the padding of {buffer.name!r} is to hold {load}, an element of another buffer",
                legal="a pad_value made of constants and the indices of the new layout",
                spots=[block.stmt],
                fast="The pad_value may not contain load expressions from other buffers",
            )
    return bool(loads)


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
        bind_vars_of(self._analyzer, op)
        return super().visit_for_(op)

    def visit_block_(self, op: Block) -> Stmt:
        bind_vars_of(self._analyzer, op)
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
        by_index = {v: r for v, r in zip(index_map.initial_indices, region)}
        return [by_index[f] for f in index_map.final_indices]  # type: ignore[index]
    return _box(region, index_map, analyzer)


def _box(
    region: Sequence[Range], index_map: IndexMap, analyzer: Analyzer
) -> list[Range] | None:
    """What the new indices run over, each on its own, if that is a known number of elements."""
    steps = {Var("d", r.min.dtype): r for r in region}
    for step, r in steps.items():
        analyzer.bind(step, Range.from_min_extent(0, r.extent))
    indices = index_map.map_indices([r.min + step for step, r in steps.items()], analyzer)
    over = {step: IntervalSet(0, r.extent - 1) for step, r in steps.items()}
    found: list[Range] = []
    for index in indices:
        reached = eval_set(index, over)
        if not (reached.has_lower_bound() and reached.has_upper_bound()):
            return None
        extent = analyzer.simplify(reached.max_value - reached.min_value + 1)
        if not isinstance(extent, IntImm):
            return None
        dtype = region[0].min.dtype
        low = analyzer.simplify(reached.min_value).astype(dtype)
        found.append(Range.from_min_extent(low, extent.astype(dtype)))
    return found
