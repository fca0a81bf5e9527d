"""A copy of a buffer, or of the region that one scope works on, and the loops that fill it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.arith import (
    Analyzer,
    IntervalSet,
    IterMapLevel,
    detect_iter_map,
    estimate_region_upper_bound,
)
from tvm.arith.deep_equal import deep_equal
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Var
from tvm.tir.functor import StmtExprMutator, statements, walk
from tvm.tir.op.arith import cast, is_one, is_zero, max_of, min_of
from tvm.tir.op.forms import conjuncts
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, For, Stmt

from .analysis.affine import (
    Box,
    analyzer_at,
    bound_region,
    loop_ranges,
    relax_exact,
    relax_upper,
)
from .analysis.query import block_of, path_between, realize_of, scope_of
from .buffers import BufferReplacer, with_scope
from .rebuild import full_ranges, nest
from .scopes import TRUE
from .tree import SRefTree


class CachedRegion:
    """`copy` stands for a region of `original`.

    It has the shape of the original, so that both are indexed alike; a `compact` one has the shape
    of the region, whose first element it has at index zero.
    """

    def __init__(
        self, original: Buffer, storage_scope: str, region: Sequence[Range], *, compact: bool
    ) -> None:
        moved = with_scope(original, storage_scope, f"{original.name}_{storage_scope}")
        whole = all(
            is_zero(part.min) and Analyzer().can_prove_equal(part.extent, extent)
            for part, extent in zip(region, original.shape)
        )
        self.original: Final = original
        self.region: Final = list(region)
        self.compact: Final = compact and not whole
        self._moves: Final = compact
        # extents are of the type of what indexes them: 8 beside an n of 64 bits becomes T.int64(8)
        shape = [
            part.extent if self.compact else cast(extent, part.extent.dtype)
            for part, extent in zip(region, original.shape)
        ]
        self.copy: Final = moved.with_changes(shape=tuple(shape), strides=(), elem_offset=None)

    def filled(self) -> tuple[Stmt, Block]:
        """Loops that copy the region in, and the block within.

        for ax0, ax1, ... in T.grid(...): copy[v0, v1, ...] = original[...]
        """
        return self._copying(into=True)

    def written_back(self, predicate: PrimExpr = TRUE) -> tuple[Stmt, Block]:
        """Loops that copy the region out where the predicate holds, and the block within."""
        return self._copying(into=False, predicate=predicate)

    def _copying(self, *, into: bool, predicate: PrimExpr = TRUE) -> tuple[Stmt, Block]:
        loops: list[tuple[Var, PrimExpr]] = []
        iter_vars: list[IterVar] = []
        values: list[PrimExpr] = []
        outside: list[PrimExpr] = []
        for dim, (part, extent) in enumerate(zip(self.region, self.copy.shape)):
            loop, var = Var(f"ax{dim}", extent.dtype), Var(f"v{dim}", extent.dtype)
            loops.append((loop, part.extent))
            dom = Range.from_min_extent(IntImm(extent.dtype, 0), extent)
            iter_vars.append(IterVar(dom, var, IterVar.DataPar))
            values.append(loop if self.compact else part.min + loop)
            outside.append(part.min + var if self.compact else var)
        inside = [iv.var for iv in iter_vars]
        ends = (self.original, outside), (self.copy, inside)
        (source, at), (target, to) = ends if into else ends[::-1]
        block = Block(
            iter_vars,
            [BufferRegion.from_point(source, at)],
            [BufferRegion.from_point(target, to)],
            self.copy.name,
            BufferStore(target, BufferLoad(source, at), to),
        )
        return nest(loops, BlockRealize(values, predicate, block)), block

    def redirect(self, blocks: Sequence[Block]) -> tuple[dict[Block, Block], dict[Block, Block]]:
        """The blocks on the copy, and what became of the blocks within them."""
        changed: dict[Block, Block] = {}
        reuse: dict[Block, Block] = {}
        for block in blocks:
            rule = _Shifted(self) if self._moves else BufferReplacer({self.original: self.copy})
            result = rule.visit_stmt(block)
            assert isinstance(result, Block), "a block stays a block"
            changed[block] = result
            reuse.update(rule.reuse)
        return changed, reuse


class _Shifted(BufferReplacer):
    """Accesses the copy, which begins where the region of the original does.

    Indices are simplified, whether or not they move.
    """

    def __init__(self, cached: CachedRegion) -> None:
        super().__init__({cached.original: cached.copy})
        self._old, self._new = cached.original, cached.copy
        zeros = [part.min * 0 for part in cached.region]
        self._mins = [part.min for part in cached.region] if cached.compact else zeros
        self._analyzer = Analyzer()

    def _moved(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [
            index
            if is_zero(low) and isinstance(index, (Var, IntImm))
            else self._analyzer.simplify(index - low)
            for index, low in zip(indices, self._mins)
        ]

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._old:
            return super().visit_buffer_load_(op)
        indices = self._moved(self.visit_exprs(op.indices))
        return BufferLoad(self._new, indices, op.predicate, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer is not self._old:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        indices = self._moved(self.visit_exprs(op.indices))
        return BufferStore(self._new, value, indices, op.predicate, op.span)

    def visit_region(self, region: BufferRegion) -> BufferRegion:
        if region.buffer is not self._old:
            return super().visit_region(region)
        starts = self._moved([part.min for part in region.region])
        parts = [Range.from_min_extent(s, p.extent) for s, p in zip(starts, region.region)]
        return BufferRegion(self._new, parts)


def has_address(block: Block, buffer: Buffer) -> bool:
    """True if a block uses the memory of a buffer in other ways than by loads and stores."""
    return any(node is buffer.data for node in walk(block))


def written_region(
    state: SRefTree, writer: StmtSRef, buffer: Buffer, sref: StmtSRef
) -> list[Range]:
    """What a block writes of a buffer while the loops below `sref` run, as a box."""
    realize = realize_of(state, writer)
    region = next(w for w in realize.block.writes if w.buffer is buffer)
    return reached(state, writer, bound_region(region, realize), buffer.shape, sref)


def read_region(state: SRefTree, reader: StmtSRef, buffer: Buffer, sref: StmtSRef) -> list[Range]:
    """What a block reads of a buffer while the loops below `sref` run, as a box."""
    realize = realize_of(state, reader)
    regions = [r for r in realize.block.reads if r.buffer is buffer]
    if len(regions) != 1:
        return full_ranges(buffer)
    return reached(state, reader, bound_region(regions[0], realize), buffer.shape, sref)


def is_within(analyzer: Analyzer, inner: Sequence[Range], outer: Sequence[Range]) -> bool:
    """Every element of a box certainly lies in another one."""
    return all(
        analyzer.can_prove(whole.min <= part.min)
        and analyzer.can_prove(part.min + part.extent <= whole.min + whole.extent)
        for part, whole in zip(inner, outer)
    )


def reads_before_write(
    state: SRefTree,
    reader: StmtSRef,
    writer: StmtSRef,
    buffer: Buffer,
    outer: StmtSRef,
    shared: StmtSRef,
) -> bool:
    """All that a reader reads while the loops below `outer` run is there before they start.

    It shares those down to `shared` with the writer. Either these have one round, in which the
    reader comes first, or each round reads one element of its own before the writer overwrites it.
    """
    children = state.get_block_scope(scope_of(reader)).children
    if children.index(writer) < children.index(reader):
        return False
    between = [s for s in (shared, *path_between(outer, shared)) if isinstance(s.stmt, For)]
    loops = {var: dom for var, dom in loop_ranges(between).items() if not is_one(dom.extent)}
    if not loops:
        return True
    here, there = realize_of(state, reader), realize_of(state, writer)
    reads = [r for r in here.block.reads if r.buffer is buffer]
    (written,) = [w for w in there.block.writes if w.buffer is buffer]
    if len(reads) != 1:
        return False
    starts: list[PrimExpr] = []
    for a, b in zip(bound_region(reads[0], here), bound_region(written, there)):
        if not (is_one(a.extent) and is_one(b.extent) and deep_equal(a.min, b.min)):
            return False
        starts.append(a.min)
    return bool(detect_iter_map(starts, loops, here.predicate, IterMapLevel.Bijective).indices)


def leaves_gaps(
    state: SRefTree, writer: StmtSRef, buffer: Buffer, sref: StmtSRef
) -> bool | None:
    """Whether the loops below `sref` leave out elements of the box of what a block writes.

    None where it cannot be told. What a block says that it writes is a box; of the blocks within
    it, one has to fill that.
    """
    within = [
        state.get_sref(part)
        for part in statements(block_of(writer).body, Block)
        if any(w.buffer is buffer for w in part.writes)
    ]
    filled = [_fills(state, part, buffer, writer) for part in within if scope_of(part) is writer]
    if filled and not any(filled):
        return True if all(one is False for one in filled) else None
    realize = realize_of(state, writer)
    region = next(w for w in realize.block.writes if w.buffer is buffer)
    parts = bound_region(region, realize)
    loops = [s for s in path_between(sref, writer) if isinstance(s.stmt, For)]
    starts = [part.min for part in parts]
    analyzer = guarded_analyzer_at(state, sref)
    found = detect_iter_map(
        starts, loop_ranges(loops), realize.predicate, IterMapLevel.Surjective, analyzer=analyzer
    )
    if not found.indices:
        return None
    for start, part in zip(found.indices, parts):
        if start.args and not analyzer.can_prove(start.args[-1].scale <= part.extent):
            return True
    return False


def _fills(
    state: SRefTree, writer: StmtSRef, buffer: Buffer, around: StmtSRef
) -> bool | None:
    """Whether a block writes all that the block around it says; None where it cannot be told."""
    gaps = leaves_gaps(state, writer, buffer, around)
    if gaps is not False:
        return None if gaps is None else False
    said = next(w.region for w in block_of(around).writes if w.buffer is buffer)
    region = written_region(state, writer, buffer, around)
    return is_within(guarded_analyzer_at(state, around), said, region)


def reached(
    state: SRefTree,
    block: StmtSRef,
    region: Sequence[Range],
    shape: Sequence[PrimExpr],
    sref: StmtSRef,
) -> list[Range]:
    """All that a region of a block meets, within a shape, while the loops below `sref` run.

    Where the block's predicate leaves less of a dimension, it is less.
    """
    predicate = realize_of(state, block).predicate
    loops: list[StmtSRef] = []
    around = block.parent
    while around is not None and around is not sref:
        if isinstance(around.stmt, For):
            loops.append(around)
        around = around.parent
    analyzer, ranges = guarded_analyzer_at(state, sref), loop_ranges(loops)
    box = relax_upper(region, ranges, shape, analyzer)
    low, high = list(box.low), list(box.high)
    if not is_one(predicate):
        found = estimate_region_upper_bound(region, ranges, predicate, analyzer)
        for dim, interval in enumerate(found or ()):
            if not isinstance(interval, IntervalSet):
                continue
            if interval.has_lower_bound() and analyzer.can_prove(interval.min_value >= low[dim]):
                low[dim] = interval.min_value
            if interval.has_upper_bound() and analyzer.can_prove(interval.max_value <= high[dim]):
                high[dim] = interval.max_value
    return [cut_to(analyzer, *ends) for ends in zip(low, high, shape)]


def fills_box(
    state: SRefTree, scope: StmtSRef, block: StmtSRef, axes: Sequence[IterVar]
) -> Box | None:
    """The values, from zero, that a block's variables take within the scope; None with gaps."""
    realize = realize_of(state, block)
    values = dict(zip(realize.block.iter_vars, realize.iter_values))
    doms = [(iv, iv.dom) for iv in axes if iv.dom is not None]
    loops = [sref for sref in path_between(scope, block) if isinstance(sref.stmt, For)]
    return relax_exact(
        [Range.from_min_extent(values[iv] - dom.min, 1) for iv, dom in doms],
        loop_ranges(loops),
        realize.predicate,
        [dom.extent for _, dom in doms],
        guarded_analyzer_at(state, scope),
    )


def guarded_analyzer_at(state: SRefTree, sref: StmtSRef) -> Analyzer:
    """An analyzer that knows the variables around an sref, and what the predicates of the blocks
    around it say of their variables."""
    analyzer = analyzer_at(sref)
    around: StmtSRef | None = sref
    while around is not None:
        if isinstance(around.stmt, Block):
            realize = realize_of(state, around)
            told = _BoundValues(realize)
            for part in conjuncts(realize.predicate):
                condition = told.visit_expr(part)
                if condition is not part:
                    analyzer.enter(condition)
        around = around.parent
    return analyzer


class _BoundValues(StmtExprMutator):
    """Names what a block's variables are bound to by the variables."""

    def __init__(self, realize: BlockRealize) -> None:
        super().__init__()
        pairs = zip(realize.block.iter_vars, realize.iter_values)
        self._values = [(value, iv.var) for iv, value in pairs if not isinstance(value, IntImm)]

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        for value, var in self._values:
            if deep_equal(value, expr):
                return var
        return super().visit_expr(expr)


def cut_to(analyzer: Analyzer, low: PrimExpr, high: PrimExpr, extent: PrimExpr) -> Range:
    """The range from `low` to `high`, cut to [0, extent) where it may reach over."""
    if not analyzer.can_prove(high < extent):
        high = min_of(high, extent - 1)
    if not analyzer.can_prove(low >= 0):
        low = max_of(low, extent * 0)
    return Range.from_min_extent(analyzer.simplify(low), analyzer.simplify(high - low + 1))


def declared_region(state: SRefTree, scope: StmtSRef, buffer: Buffer) -> list[Range]:
    """What a scope says that it reads of a buffer from outside.

    All of the buffer if the scope does not tell, or if what it tells may reach over the end.
    """
    analyzer = guarded_analyzer_at(state, scope)
    for region in block_of(scope).reads:
        if region.buffer is buffer and all(
            analyzer.can_prove(part.min >= 0) and analyzer.can_prove(part.min + part.extent <= end)
            for part, end in zip(region.region, buffer.shape)
        ):
            return list(region.region)
    return full_ranges(buffer)
