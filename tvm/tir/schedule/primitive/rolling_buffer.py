"""Keep only the part of a buffer that the next iteration of a loop still needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import DepKind, StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IterVar, Var, make_const
from tvm.tir.functor import substitute
from tvm.tir.op.arith import floormod, is_one, less, less_equal, logical_and, logical_or
from tvm.tir.schedule.analysis.affine import (
    analyzer_at,
    bound_region,
    loop_ranges,
    relax_upper,
)
from tvm.tir.schedule.analysis.query import (
    block_of,
    consumers_of,
    is_output_block,
    loop_of,
    loops_above,
    path_between,
    realize_of,
    region_at,
    require_allocated,
    scope_of,
)
from tvm.tir.schedule.buffers import BufferReplacer
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import access_regions
from tvm.tir.schedule.scopes import common_ancestor
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, For, ForKind, Stmt
from tvm.tir.transform.rolling_window import moving_window

KIND = kind("RollingBuffer", "rolling_buffer", "block", "=write_buffer_index")


@dataclass
class _Rolling:
    """What rolls: dimension `axis` of `old`, which `new` keeps `extent` elements of.

    `loops` and `overlaps` have for each dimension the loop that moves its window, and how many
    elements the windows of two iterations share.
    """

    old: Buffer
    new: Buffer
    axis: int
    extent: PrimExpr
    loops: list[Var | None]
    overlaps: list[int]


def rolling_buffer(state: SRefTree, block: StmtSRef, write_buffer_index: int) -> None:
    """Keep one window of the buffer, and do not compute again what it holds already.

    for io:                                         for io:
        for ax in range(6): B[io * 4 + ax] = S  ->      for ax in range(6):
        for ii: T(B[io * 4 + ii : + 3])                     if io < 1 or 2 <= ax:
                                                                B[(io * 4 + ax) % 6] = S
                                                        for ii: T(B[(io * 4 + ii ...) % 6])

    The outermost loop that moves overlapping windows is the one that the buffer rolls along.
    """
    node, scope = block_of(block), scope_of(block)
    region = region_at(node, write_buffer_index, written=True)
    site = require_allocated(state, block, region.buffer)
    users = _users(state, block, scope)
    ancestor = common_ancestor([block, *users])
    if not isinstance(ancestor.stmt, For):
        raise Illegal(
            f"block {node.name_hint!r} and its consumers share no loop",
            legal="a block that compute_at moved into a loop of its consumers",
            spots=[node],
            fast="rolling_buffer injection is invalid, the lca of the access location of the "
            "target buffer is not a for loop.",
            detail="rolling_buffer injection is invalid. The block {0} should be tiled so that the "
            f"lca of the access location of the target buffer {region.buffer.name} is a for loop.",
        )
    rolling = _window(state, block, ancestor, region)
    rule = _Roll(rolling, realize_of(state, block), site)
    old = block_of(site)
    new = rule.visit_stmt(old)
    assert isinstance(new, Block), "a block stays a block"
    state.replace(site, new, {**rule.reuse, old: new})


def _users(state: SRefTree, block: StmtSRef, scope: StmtSRef) -> list[StmtSRef]:
    """The consumers; refused where anything else depends on the block or it writes an output."""
    node = block_of(block)
    if is_output_block(block, scope):
        raise Illegal(
            f"block {node.name_hint!r} writes an output of its scope",
            legal="a block whose result other blocks of the scope read",
            spots=[node],
            fast="Cannot operate on an output block",
            detail="The block {0} is an output block",
        )
    facts = state.get_block_scope(scope)
    for dep in [*facts.get_deps_by_src(block), *facts.get_deps_by_dst(block)]:
        if dep.kind is not DepKind.RAW:
            other = dep.dst if dep.src is block else dep.src
            raise Illegal(
                f"block {node.name_hint!r} and block {block_of(other).name_hint!r} write the same "
                "buffer, or one writes what the other reads before",
                legal="a block that others only read from",
                spots=[node, other.stmt],
                fast="The block has dependencies other than read-after-write",
            )
    return consumers_of(block, facts)


def _window(
    state: SRefTree, block: StmtSRef, ancestor: StmtSRef, region: BufferRegion
) -> _Rolling:
    """The window that one iteration of the shared loop writes, and how it moves."""
    realize = realize_of(state, block)
    inner = loop_ranges([p for p in path_between(ancestor, block) if isinstance(p.stmt, For)])
    analyzer = analyzer_at(ancestor)
    buffer = region.buffer
    box = relax_upper(bound_region(region, realize), inner, buffer.shape, analyzer)
    windows = [
        moving_window(low, analyzer.simplify(high - low + 1))
        for low, high in zip(box.low, box.high)
    ]
    loops, overlaps = [var for var, _ in windows], [overlap for _, overlap in windows]
    above = [*loops_above(ancestor), ancestor]
    for number, sref in enumerate(above):
        var = loop_of(sref).loop_var
        moving = [i for i, other in enumerate(loops) if other is var and overlaps[i] > 0]
        if not moving:
            continue
        _require_in_order([loop_of(s) for s in above[number:]])
        axis = moving[0]
        if not _one_variable(realize, region, axis):
            break
        extent = analyzer.simplify(box.high[axis] - box.low[axis] + 1)
        shape = [*buffer.shape[:axis], extent, *buffer.shape[axis + 1 :]]
        new = buffer.with_changes(shape=tuple(shape), strides=())
        return _Rolling(buffer, new, axis, extent, loops, overlaps)
    parts = ", ".join([f"[{low}, {high}]" for low, high in zip(box.low, box.high)])
    raise Illegal(
        f"of {buffer.name!r} one iteration of {name_of(ancestor.stmt)} writes {parts}; no loop "
        "around moves that by a constant less than its size",
        legal="a window such as [i * 4, i * 4 + 5], of which two iterations share a part",
        spots=[ancestor.stmt, block.stmt],
        fast="The access region of the buffer has no dimension with a positive bound overlap",
    )


def _require_in_order(loops: Sequence[For]) -> None:
    for loop in loops:
        if loop.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            raise Illegal(
                f"the iterations of {name_of(loop)} run at the same time, none can use what "
                "another one left",
                legal="loops that run one iteration after the other",
                spots=[loop],
                fast="The loop of the rolling axis is not serial",
            )


def _one_variable(realize: BlockRealize, region: BufferRegion, axis: int) -> bool:
    """True if the block writes along the axis at its variable of the same number."""
    iters = realize.block.iter_vars
    part = region.region[axis]
    return axis < len(iters) and part.min is iters[axis].var


class _Roll(BufferReplacer):
    """Folds the buffer along the rolling dimension, and skips what it holds already.

    Iterations of the blocks that use it have to run in order now: the variable of that dimension
    is opaque.
    """

    def __init__(self, rolling: _Rolling, producer: BlockRealize, site: StmtSRef) -> None:
        super().__init__({rolling.old: rolling.new})
        self._rolling = rolling
        self._producer = producer
        self._site = site.stmt

    def _folded(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        axis = self._rolling.axis
        wrapped = floormod(indices[axis], self._rolling.extent)
        return [*indices[:axis], wrapped, *indices[axis + 1 :]]

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._rolling.old:
            return super().visit_buffer_load_(op)
        indices = self._folded(self.visit_exprs(op.indices))
        return BufferLoad(self._rolling.new, indices, op.predicate, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer is not self._rolling.old:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        indices = self._folded(self.visit_exprs(op.indices))
        return BufferStore(self._rolling.new, value, indices, op.predicate, op.span)

    def visit_block_(self, op: Block) -> Stmt:
        used = any(r.buffer is self._rolling.old for r in (*op.reads, *op.writes))
        new = super().visit_block_(op)
        assert isinstance(new, Block), "a block stays a block"
        if not used or op is self._site:
            return new
        iters = list(new.iter_vars)
        axis = self._rolling.axis
        if axis < len(iters):
            iv = iters[axis]
            iters[axis] = IterVar(iv.dom, iv.var, IterVar.DimInfo, iv.thread_tag, iv.span)
        reads, writes = access_regions(new)
        rolled = change_block(
            new,
            iter_vars=iters,
            reads=self._regions(new.reads, reads),
            writes=self._regions(new.writes, writes),
        )
        self.track(op, rolled)
        return rolled

    def _regions(
        self, declared: Sequence[BufferRegion], found: Sequence[BufferRegion]
    ) -> list[BufferRegion]:
        mine = {r.buffer: self._rolled(r) for r in found if r.buffer is self._rolling.new}
        return [mine.get(r.buffer, r) for r in declared]

    def _rolled(self, region: BufferRegion) -> BufferRegion:
        """The region; where several elements of the window are used, all of it."""
        parts = list(region.region)
        if not is_one(parts[self._rolling.axis].extent):
            parts[self._rolling.axis] = Range.from_min_extent(0, self._rolling.extent)
        return BufferRegion(region.buffer, parts)

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        new = super().visit_block_realize_(op)
        if op is not self._producer:
            return new
        assert isinstance(new, BlockRealize), "the producer stays a block"
        analyzer = Analyzer()
        predicate: PrimExpr = new.predicate
        for value, var, overlap in zip(
            self._written_at(), self._rolling.loops, self._rolling.overlaps
        ):
            if var is None or overlap <= 0:
                continue
            first = analyzer.simplify(substitute(value, {var: make_const(0, var.dtype)}))
            unseen = less_equal(make_const(overlap, first.dtype), first)
            fresh = logical_or(less(var, make_const(1, var.dtype)), unseen)
            predicate = logical_and(predicate, fresh)
        return BlockRealize(new.iter_values, analyzer.simplify(predicate), new.block, new.span)

    def _written_at(self) -> list[PrimExpr]:
        """Where the producer writes, in terms of the loops around it."""
        write = next(
            w for w in self._producer.block.writes if w.buffer is self._rolling.old
        )
        return [part.min for part in bound_region(write, self._producer)]
