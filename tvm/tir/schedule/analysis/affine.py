"""Bindings of block variables: affine maps of loops, and the regions that blocks touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tvm.arith import Analyzer, detect_iter_map
from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import GE, LE, LT, And, IntImm, Var
from tvm.tir.functor import substitute, walk
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For

from .interval import interval_of, is_dense
from .query import loop_of, loops_above, realize_of

Ranges = Mapping[Var, Range]


def loop_ranges(loops: Iterable[StmtSRef]) -> dict[Var, Range]:
    """The variables of some loops with their ranges."""
    found: dict[Var, Range] = {}
    for sref in loops:
        loop = loop_of(sref)
        found[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
    return found


def analyzer_at(sref: StmtSRef) -> Analyzer:
    """An analyzer that knows the loops and block variables around a place."""
    analyzer = Analyzer()
    place: StmtSRef | None = sref
    around: list[Block | For] = []
    while place is not None:
        assert place.stmt is not None, "the place stands in the program"
        around.append(place.stmt)
        place = place.parent
    for stmt in reversed(around):
        bind_place(analyzer, stmt)
    return analyzer


def bind_place(analyzer: Analyzer, stmt: Block | For) -> None:
    """Tell an analyzer the range of a loop, or those of a block's variables."""
    if isinstance(stmt, For):
        analyzer.bind(stmt.loop_var, Range.from_min_extent(stmt.min, stmt.extent))
    else:
        for iv in stmt.iter_vars:
            if iv.dom is not None:
                analyzer.bind(iv.var, iv.dom)


def is_affine(values: Sequence[PrimExpr], ranges: Ranges, predicate: PrimExpr) -> bool:
    """True if the values split and fuse the loops without overlap, each covering its range."""
    if not values:
        return True
    if not ranges:
        return all(not isinstance(v, Var) for v in values)
    if all(isinstance(v, (Var, IntImm)) for v in values) and is_one(predicate):
        names = [v for v in values if isinstance(v, Var)]
        if len(set(names)) == len(names) and all(v in ranges for v in names):
            return True  # one loop a variable, the usual case
    found = detect_iter_map(list(values), dict(ranges), predicate)
    if not found.indices:
        return False
    return all(not sum_.args or is_one(sum_.args[0].scale) for sum_ in found.indices)


def affine_binding(state: SRefTree, block_sref: StmtSRef) -> bool:
    """True if the variables of a block are bound to an affine map of the loops above it."""
    if block_sref.parent is None:
        return True
    realize = realize_of(state, block_sref)
    return is_affine(realize.iter_values, loop_ranges(loops_above(block_sref)), realize.predicate)


def require_affine(state: SRefTree, block_sref: StmtSRef) -> None:
    """Refuse a block whose binding is not affine."""
    if affine_binding(state, block_sref):
        return
    realize = realize_of(state, block_sref)
    values = ", ".join([str(v) for v in realize.iter_values])
    raise Illegal(
        f"block {realize.block.name_hint!r} is required to have an affine binding; its variables "
        f"are bound to ({values})",
        legal="variables bound to splits and fusions of the loops above, each loop used once",
        spots=[realize.block],
        fast="The block is required to have an affine binding",
    )


def bound_region(region: BufferRegion, realize: BlockRealize) -> list[Range]:
    """A region of a block in terms of the loops above it."""
    values = dict(zip([iv.var for iv in realize.block.iter_vars], realize.iter_values))
    return substitute(list(region.region), values)


class Box(Object):
    """One interval a dimension, both ends included."""

    __slots__ = ("high", "low")

    def __init__(self, low: Sequence[PrimExpr], high: Sequence[PrimExpr]) -> None:
        self.low: Final = tuple(low)
        self.high: Final = tuple(high)


def relax_upper(
    region: Sequence[Range], ranges: Ranges, shape: Sequence[PrimExpr], analyzer: Analyzer
) -> Box:
    """A box that holds all of `region` while the loops run."""
    low: list[PrimExpr] = []
    high: list[PrimExpr] = []
    for part, extent in zip(region, shape):
        first = interval_of(part.min, ranges, analyzer)
        last = interval_of(part.min + part.extent - 1, ranges, analyzer)
        if first is None or last is None:
            first, last = (extent * 0, extent * 0), (extent - 1, extent - 1)
        low.append(first[0])
        high.append(last[1])
    return Box(low, high)


def relax_exact(
    region: Sequence[Range],
    ranges: Ranges,
    predicate: PrimExpr,
    shape: Sequence[PrimExpr],
    analyzer: Analyzer,
) -> Box | None:
    """The box that `region`, cut to the buffer, fills while the loops run; None if it has gaps."""
    mins = [part.min for part in region]
    if not _within_buffer(predicate, mins, shape, analyzer):
        return None
    if not _each_dense(region, ranges) and not _map_is_dense(mins, ranges):
        return None
    return relax_upper(region, ranges, shape, analyzer)


def _each_dense(region: Sequence[Range], ranges: Ranges) -> bool:
    """True if each dimension is a gapless sum of loops of its own: quick, and the usual case."""
    seen: set[Var] = set()
    for part in region:
        used = {n for n in walk(part.min) if isinstance(n, Var) and n in ranges}
        if used & seen or not is_dense(part.min, part.extent, ranges):
            return False
        seen |= used
    return True


def _map_is_dense(mins: Sequence[PrimExpr], ranges: Ranges) -> bool:
    """True if the places are an affine map of the loops that reaches all of its box."""
    used = {n for m in mins for n in walk(m) if isinstance(n, Var) and n in ranges}
    moving = [m for m in mins if any(isinstance(n, Var) and n in ranges for n in walk(m))]
    found = detect_iter_map(moving, {v: ranges[v] for v in ranges if v in used})
    return bool(found.indices) and all(
        not sum_.args or is_one(sum_.args[-1].scale) for sum_ in found.indices
    )


def _within_buffer(
    predicate: PrimExpr, mins: Sequence[PrimExpr], shape: Sequence[PrimExpr], analyzer: Analyzer
) -> bool:
    """True if the predicate only keeps the indices within the buffer."""
    for part in conjuncts(predicate):
        if is_one(part) or analyzer.can_prove(part):
            continue
        low = part.a - part.b if isinstance(part, (GE, LE)) else None
        if isinstance(part, LT):
            fits = any(
                analyzer.can_prove_equal(part.a - part.b, index - extent)
                for index, extent in zip(mins, shape)
            )
        elif low is not None:
            low = low if isinstance(part, GE) else part.b - part.a
            fits = any(analyzer.can_prove_equal(low, index) for index in mins)
        else:
            fits = False
        if not fits:
            return False
    return True


def conjuncts(predicate: PrimExpr) -> list[PrimExpr]:
    """The conditions that a predicate joins by `and`."""
    found: list[PrimExpr] = []
    stack = [predicate]
    while stack:
        current = stack.pop()
        if isinstance(current, And):
            stack.extend([current.b, current.a])
        else:
            found.append(current)
    return found
