"""Bindings of block variables: affine maps of loops, and the regions that blocks touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from tvm.arith import Analyzer, IterSumExpr, detect_iter_map
from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import GE, LE, LT, IntImm, Var
from tvm.tir.functor import substitute, uses_any, vars_in
from tvm.tir.op.arith import is_one, logical_and
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For

from .interval import interval_of, is_dense
from .joined_loops import joined
from .query import block_of, loop_of, loops_above, realize_of

Ranges = Mapping[Var, Range]


def loop_ranges(loops: Iterable[StmtSRef]) -> dict[Var, Range]:
    """The variables of some loops with their ranges."""
    found: dict[Var, Range] = {}
    for sref in loops:
        loop = loop_of(sref)
        found[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
    return found


def analyzer_at(sref: StmtSRef) -> Analyzer:
    """An analyzer that knows the loops and block variables around an sref."""
    analyzer = Analyzer()
    ancestor: StmtSRef | None = sref
    around: list[Block | For] = []
    while ancestor is not None:
        assert ancestor.stmt is not None, "the sref stands in the program"
        around.append(ancestor.stmt)
        ancestor = ancestor.parent
    for stmt in reversed(around):
        bind_vars_of(analyzer, stmt)
    return analyzer


def bind_vars_of(analyzer: Analyzer, stmt: Block | For) -> None:
    """Tell an analyzer the range of a loop, or those of a block's variables, which stay in indices
    where they have one value only.
    """
    if isinstance(stmt, For):
        analyzer.bind(stmt.loop_var, Range.from_min_extent(stmt.min, stmt.extent))
    else:
        for iv in stmt.iter_vars:
            if iv.dom is not None:
                analyzer.bind_domain(iv.var, iv.dom)


def simplified_indices(block: Block, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """The indices without the variables that do not move them, such as v // 16 of a v below 16.

    An index of one value stays as it is: its dimension is there to be laid out.
    """
    analyzer = Analyzer()
    for iv in block.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    simple = [analyzer.simplify(index) for index in indices]
    return tuple([i if isinstance(s, IntImm) else s for i, s in zip(indices, simple)])


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
    found = detect_iter_map(list(values), dict(ranges), predicate, allow_padding=False)
    if not found.indices:
        whole = joined([*values, predicate], ranges, Analyzer())
        if whole is None:
            return False
        *pieces, condition = whole[0]
        found = detect_iter_map(pieces, whole[1], condition, allow_padding=False)
    return _has_unit_scales(found.indices)


def _has_unit_scales(indices: Sequence[IterSumExpr]) -> bool:
    """True if there are indices, of which the finest part moves in steps of one."""
    return bool(indices) and all(
        not sum_.args or any(is_one(split.scale) for split in sum_.args) for sum_ in indices
    )


def affine_binding(state: SRefTree, block_sref: StmtSRef) -> bool:
    """True if the variables of a block are bound to an affine map of the loops above it."""
    if block_sref.parent is None:
        return True
    facts = state.facts(block_of(block_sref))
    placing = placing_of(state, block_sref)
    known = facts.get("affine")
    if known is None or not same_placing(known[0], placing):
        realize = realize_of(state, block_sref)
        ranges = loop_ranges(loops_above(block_sref))
        known = (placing, is_affine(realize.iter_values, ranges, realize.predicate))
        facts["affine"] = known
    return bool(known[1])


def placing_of(state: SRefTree, block_sref: StmtSRef) -> list[object]:
    """The objects that say where and when a block runs in its scope: its bindings and loops.

    Loops that were only made parallel, vectorized or annotated are the same in this respect.
    """
    realize = realize_of(state, block_sref)
    found: list[object] = [realize.block, *realize.iter_values, realize.predicate]
    for sref in loops_above(block_sref):
        loop = loop_of(sref)
        found += (loop.loop_var, loop.min, loop.extent)
    return found


def same_placing(known: Sequence[object], placing: Sequence[object]) -> bool:
    """True if nothing was replaced."""
    return len(known) == len(placing) and all(a is b for a, b in zip(known, placing))


def require_affine(
    state: SRefTree,
    block_sref: StmtSRef,
    outermost: StmtSRef | None = None,
    *,
    overlaps: bool = False,
) -> None:
    """Refuse a block whose binding is not affine; the loops around `outermost` may stand still.

    Where `overlaps` are legal, a loop may move over part of what another one covers.
    """
    if affine_binding(state, block_sref):
        return
    realize = realize_of(state, block_sref)
    above = loops_above(block_sref)
    if overlaps and _has_unit_scales(
        detect_iter_map(list(realize.iter_values), loop_ranges(above), realize.predicate).indices
    ):
        return
    if outermost is not None and outermost in above[1:]:
        inside = loop_ranges(above[above.index(outermost) :])
        if is_affine(realize.iter_values, inside, realize.predicate):
            return
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
    still = {var: rng.min for var, rng in ranges.items() if is_one(rng.extent)}
    if still:  # (i + j) // n with j = 0 is one index, whatever n is
        region = substitute(list(region), still)
    low: list[PrimExpr] = []
    high: list[PrimExpr] = []
    for part, extent in zip(region, shape):
        first = interval_of(part.min, ranges, analyzer)
        last = (
            first
            if is_one(part.extent)
            else interval_of(analyzer.simplify(part.min + part.extent - 1), ranges, analyzer)
        )
        if first is None or last is None:
            first, last = (extent * 0, extent * 0), (extent - 1, extent - 1)
        low.append(first[0])
        high.append(last[1])
    return Box(low, high)


_NOTHING: Final[PrimExpr] = IntImm("bool", 1)  # the predicate that leaves nothing out


def relax_exact(
    region: Sequence[Range],
    ranges: Ranges,
    predicate: PrimExpr,
    shape: Sequence[PrimExpr],
    analyzer: Analyzer,
) -> Box | None:
    """The box that `region`, cut to the buffer, fills while the loops run; None if it has gaps."""
    for var, rng in ranges.items():
        analyzer.bind(var, rng, allow_override=True)
    given = region
    region = [Range.from_min_extent(analyzer.simplify(p.min), p.extent) for p in region]
    mins = [part.min for part in region]
    remaining = _not_buffer_bounds(predicate, mins, ranges, shape, analyzer)
    moving = set(vars_in(*mins))
    remaining = [term for term in remaining if not _holds_somewhere(term, moving, ranges, analyzer)]
    if not remaining and _each_dense(region, ranges):
        return relax_upper(region, ranges, shape, analyzer)
    box = _mapped_box(region, ranges, reduce(logical_and, remaining, _NOTHING), analyzer)
    if box is None:  # also as it was written, with the sums that simplification takes apart
        box = _mapped_box(given, ranges, predicate, analyzer)
    return box


def _holds_somewhere(
    term: PrimExpr, moving: set[Var], ranges: Ranges, analyzer: Analyzer
) -> bool:
    """True if a term leaves the first iteration of one loop in, and indices do not move with it."""
    used = {n for n in vars_in(term) if n in ranges}
    if used & moving:
        return False
    return analyzer.can_prove(substitute(term, {var: ranges[var].min for var in used}))


def _each_dense(region: Sequence[Range], ranges: Ranges) -> bool:
    """True if each dimension is a gapless sum of loops of its own: quick, and the usual case."""
    seen: set[Var] = set()
    for part in region:
        used = {n for n in vars_in(part.min) if n in ranges}
        if used & seen or not is_dense(part.min, part.extent, ranges):
            return False
        seen |= used
    return True


def _mapped_box(
    region: Sequence[Range], ranges: Ranges, predicate: PrimExpr, analyzer: Analyzer
) -> Box | None:
    """The box of indices that are an affine map of the loops; None for others."""
    region, ranges = _in_points(region, ranges)
    moving = [uses_any(part.min, ranges) for part in region]
    if not all(is_one(part.extent) or not moves for part, moves in zip(region, moving)):
        return None
    used = {n for p in region for n in vars_in(p.min) if n in ranges}
    indices = [part.min for part, moves in zip(region, moving) if moves]
    loops = {v: ranges[v] for v in ranges if v in used}
    found = detect_iter_map(indices, loops, predicate, allow_padding=False)
    if not found.indices and any(moving):
        whole = joined([*indices, predicate], loops, analyzer)
        if whole is None:
            return None
        (*indices, predicate), loops = whole
        found = detect_iter_map(indices, loops, predicate, allow_padding=False)
        if not found.indices:
            return None
    sums = iter(found.indices)
    low: list[PrimExpr] = []
    high: list[PrimExpr] = []
    for part, moves in zip(region, moving):
        if not moves:
            low.append(part.min)
            high.append(analyzer.simplify(part.min + part.extent - 1))
            continue
        sum_ = next(sums)
        if not _has_unit_scales([sum_]):
            return None
        top: PrimExpr = sum_.base
        for split in sum_.args:
            top = top + split.scale * (split.extent - 1)
        low.append(analyzer.simplify(sum_.base))
        high.append(analyzer.simplify(top))
    return Box(low, high)


def _in_points(
    region: Sequence[Range], ranges: Ranges
) -> tuple[list[Range], dict[Var, Range]]:
    """The region as single elements, each wide part walked by a loop of its own."""
    points: list[Range] = []
    loops = dict(ranges)
    for axis, part in enumerate(region):
        if is_one(part.extent) or not isinstance(part.extent, IntImm):
            points.append(part)
            continue
        step = Var(f"step{axis}", part.extent.dtype)
        loops[step] = Range.from_min_extent(IntImm(step.dtype, 0), part.extent)
        points.append(Range.from_min_extent(part.min + step, IntImm(step.dtype, 1)))
    return points, loops


def _not_buffer_bounds(
    predicate: PrimExpr,
    mins: Sequence[PrimExpr],
    ranges: Ranges,
    shape: Sequence[PrimExpr],
    analyzer: Analyzer,
) -> list[PrimExpr]:
    """The parts of the predicate that may leave out an element within the buffer.

    Loops that do not move the index (those of a reduction) count by their first iteration.
    """
    if is_one(predicate):
        return []
    moving = set(vars_in(*mins))
    first = {var: rng.min for var, rng in ranges.items() if var not in moving}
    for var, rng in ranges.items():
        if var in moving:
            analyzer.bind(var, rng)
    return [
        part
        for part in conjuncts(substitute(predicate, first))
        if not (
            is_one(part) or analyzer.can_prove(part) or _is_bound(part, mins, shape, analyzer)
        )
    ]


def _is_bound(
    part: PrimExpr, mins: Sequence[PrimExpr], shape: Sequence[PrimExpr], analyzer: Analyzer
) -> bool:
    """True for `index < extent` and `index >= 0` of a dimension."""
    if isinstance(part, LT):
        return any(
            analyzer.can_prove_equal(part.a - part.b, index - extent)
            for index, extent in zip(mins, shape)
        )
    if isinstance(part, (GE, LE)):
        least = part.a - part.b if isinstance(part, GE) else part.b - part.a
        return any(analyzer.can_prove_equal(least, index) for index in mins)
    return False
