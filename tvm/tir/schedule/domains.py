"""Which values of a block's variables are needed, told from the box of a buffer that is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, FloorDiv, FloorMod, IntImm, Mul, Var, make_const
from tvm.tir.functor import substitute, uses_any, vars_in
from tvm.tir.op.arith import (
    cast,
    floordiv,
    greater_equal,
    is_one,
    is_zero,
    less,
    less_equal,
    logical_and,
    logical_or,
    max_of,
    min_of,
)
from tvm.tir.op.forms import terms_of
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, Stmt

from .analysis.affine import Box
from .analysis.interval import linear_terms
from .rebuild import nest

Domains = dict[Var, Range]


def narrowed(
    block: Block, needed: Mapping[Buffer, Box], analyzer: Analyzer, *, reverse: bool
) -> Domains:
    """The part of each variable's domain that is needed; all of it where nothing tells.

    The block provides (in reverse: consumes) elements at indices that depend on its variables;
    `needed` says which elements are asked for.
    """
    return narrowed_by(block, block.reads if reverse else block.writes, needed, analyzer)


def narrowed_by(
    block: Block,
    regions: Sequence[BufferRegion],
    needed: Mapping[Buffer, Box],
    analyzer: Analyzer,
) -> Domains:
    """The part of each variable's domain that some of the block's regions tell."""
    full: Domains = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    limits: dict[Var, tuple[PrimExpr, PrimExpr]] = {}
    for region in regions:
        box = needed.get(region.buffer)
        if box is None:
            continue
        for part, low, high in _rejoined(region.region, box):
            for var, first, last in _solve(part, low, high, full):
                known = limits.get(var)
                if known is not None:
                    first, last = max_of(known[0], first), min_of(known[1], last)
                limits[var] = (first, last)
    found: Domains = {}
    for iv in block.iter_vars:
        assert iv.dom is not None, "block variables have domains"
        limit = limits.get(iv.var)
        found[iv.var] = iv.dom if limit is None else _cut(iv.dom, limit, analyzer)
    return found


def symbolic_ends(
    block: Block, buffers: Collection[Buffer], analyzer: Analyzer
) -> dict[Var, tuple[PrimExpr, PrimExpr]]:
    """First and end of variables where they read a dimension of symbolic extent to its end.

    The extent of a domain is one too, and needs no second where it is known to be smaller.
    """
    full: Domains = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    found: dict[Var, tuple[PrimExpr, PrimExpr]] = {}
    for region in block.reads:
        if region.buffer not in buffers:
            continue
        for part, extent in zip(region.region, region.buffer.shape):
            if isinstance(extent, IntImm) or not is_one(part.extent):
                continue
            for var, first, last in _solve(part, make_const(0, extent.dtype), extent - 1, full):
                dom = full[var]
                spare = analyzer.simplify(last + 1 - (dom.min + dom.extent))
                if not isinstance(spare, IntImm) or spare.value < 0:
                    found[var] = (analyzer.simplify(first), analyzer.simplify(last + 1))
    return found


def _rejoined(region: Sequence[Range], box: Box) -> list[tuple[Range, PrimExpr, PrimExpr]]:
    """The dimensions with their bounds; x // 16 and x % 16 are one, namely x."""
    parts = list(zip(region, box.low, box.high))
    found: list[tuple[Range, PrimExpr, PrimExpr]] = []
    taken: set[int] = set()
    for number, (part, low, high) in enumerate(parts):
        if not (isinstance(part.min, FloorDiv) and is_one(part.extent)):
            continue
        value, step = part.min.a, part.min.b
        for other, (other_range, first, last) in enumerate(parts):
            same = (
                isinstance(other_range.min, FloorMod)
                and is_one(other_range.extent)
                and expr_deep_equal(other_range.min.a, value)
                and expr_deep_equal(other_range.min.b, step)
            )
            if same and taken.isdisjoint((number, other)):
                taken |= {number, other}
                whole = Range.from_min_extent(value, part.extent)
                found.append((whole, low * step + first, high * step + last))
    return [*found, *[part for number, part in enumerate(parts) if number not in taken]]


def _solve(
    part: Range, low: PrimExpr, high: PrimExpr, names: Domains
) -> list[tuple[Var, PrimExpr, PrimExpr]]:
    """Bounds of variables from `low <= part <= high`, for one dimension of a buffer."""
    index = part.min
    if isinstance(index, Var):
        return [(index, low, high)] if index in names else []
    if isinstance(index, FloorDiv) and isinstance(index.a, Var) and index.a in names:
        return [(index.a, low * index.b, high * index.b + (index.b - 1))]
    terms = linear_terms(index, names)
    if terms is None:
        return []
    moving = {var: scale for var, scale in terms.items() if scale and not is_one(names[var].extent)}
    if len(moving) != 1:
        return _packed(index, low, high, moving, names)
    ((var, scale),) = moving.items()
    offset = Analyzer().simplify(index - var * scale)
    if uses_any(offset, names):
        return []
    if scale < 0:
        low, high, scale, offset = -high, -low, -scale, -offset
    step = make_const(scale, index.dtype)
    first = floordiv(low - offset + (step - 1), step) if scale > 1 else low - offset
    last = floordiv(high - offset, step) if scale > 1 else high - offset
    return [(var, first, last)]


def _packed(
    index: PrimExpr, low: PrimExpr, high: PrimExpr, scales: Mapping[Var, int], names: Domains
) -> list[tuple[Var, PrimExpr, PrimExpr]]:
    """Bounds of the outermost of several variables that make up one index, as a * n + b."""
    order = sorted(scales.items(), key=lambda item: item[1], reverse=True)
    found: list[tuple[Var, PrimExpr, PrimExpr]] = []
    if not order or any(scale <= 0 for _, scale in order):
        return found
    reach = 1
    for var, scale in reversed(order):
        extent = names[var].extent
        if scale != reach:
            return []
        if not isinstance(extent, IntImm):
            if var is not order[0][0]:
                return []
            break
        reach = scale * extent.value
    offset = Analyzer().simplify(index - sum(var * scale for var, scale in order))
    if uses_any(offset, names):
        return []
    var, scale = order[0]
    step = make_const(scale, index.dtype)
    return [(var, floordiv(low - offset, step), floordiv(high - offset, step))]


def _cut(dom: Range, limit: tuple[PrimExpr, PrimExpr], analyzer: Analyzer) -> Range:
    """The limits cut to the domain where that needs no min or max, and no number becomes symbolic.

    A tile of 16 stays one: its part beyond the domain is left out by the predicate.
    """
    low, high = analyzer.simplify(limit[0]), analyzer.simplify(limit[1])
    whole = Range.from_min_extent(low, analyzer.simplify(high - low + 1))
    top = dom.min + dom.extent - 1
    if analyzer.can_prove(low <= dom.min) and analyzer.can_prove(high >= top):
        return dom
    if analyzer.can_prove(low <= dom.min):
        low = dom.min
    if analyzer.can_prove(high >= top):
        high = top
    cut = Range.from_min_extent(low, analyzer.simplify(high - low + 1))
    kept = isinstance(whole.extent, IntImm) and not isinstance(cut.extent, IntImm)
    return whole if kept else cut


def nest_over(
    realize: BlockRealize,
    domains: Domains,
    asked: Sequence[PrimExpr],
    analyzer: Analyzer,
    preserve_unit_loops: bool,
    ends: Mapping[Var, tuple[PrimExpr, PrimExpr]] = MappingProxyType({}),
) -> Stmt:
    """New loops `ax0, ax1, ...` over the domains, with the block within.

    Where the domains may reach over those of the variables, or over their `ends`, the block gets a
    predicate; `asked` are conditions on block variables that hold wherever it runs.
    """
    block = realize.block
    loops: list[tuple[Var, PrimExpr]] = []
    values: list[PrimExpr] = []
    predicate: PrimExpr = IntImm("bool", 1)
    for iv in block.iter_vars:
        dom, whole = domains[iv.var], iv.dom
        assert whole is not None, "block variables have domains"
        start = cast(dom.min, iv.var.dtype)  # domains may begin with 0 beside extents of 64 bits
        if is_one(dom.extent) and not preserve_unit_loops:
            value = start
        else:
            loop = Var(f"ax{len(loops)}", iv.var.dtype)
            loops.append((loop, dom.extent))
            analyzer.bind(loop, Range.from_min_extent(make_const(0, loop.dtype), dom.extent))
            value = loop if is_zero(start) else start + loop
        values.append(value)
        if dom is not whole:
            point = start if is_one(dom.extent) else value
            for inside in _limits(point, whole, analyzer, ends.get(iv.var)):
                predicate = logical_and(predicate, inside)
    bindings = {iv.var: value for iv, value in zip(block.iter_vars, values)}
    for condition in [substitute(one, bindings) for one in asked]:
        if not analyzer.can_prove(condition):
            predicate = logical_and(predicate, analyzer.simplify(condition))
    return nest(loops, BlockRealize(values, predicate, block, realize.span))


def _limits(
    value: PrimExpr, whole: Range, analyzer: Analyzer, ends: tuple[PrimExpr, PrimExpr] | None
) -> list[PrimExpr]:
    """The conditions for a value to lie in a domain that are not always true."""
    if _is_digit(value, whole, analyzer):
        return []
    conditions = _open(greater_equal(value, whole.min), analyzer)
    if ends is not None:  # an interval that ends at a symbol has one element at least
        before = logical_or(less(value, ends[1]), less_equal(value, ends[0]))
        conditions += _open(before, _of_numbers(value, analyzer))
    return [*conditions, *_open(less(value, whole.min + whole.extent), analyzer)]


def _open(condition: PrimExpr, analyzer: Analyzer) -> list[PrimExpr]:
    """The condition in simple form, unless it always holds."""
    return [] if analyzer.can_prove(condition) else [analyzer.simplify(condition)]


def _of_numbers(value: PrimExpr, analyzer: Analyzer) -> Analyzer:
    """One that knows between which numbers the loops in a value run, but not up to which symbols.

    v0.22 knows the latter of a single loop alone: it writes `i - (m + 3) // 4 < 0` where i counts
    tiles, although that is how many there are.
    """
    loops = list(vars_in(value))
    if len(loops) == 1 and isinstance(analyzer.simplify(value - loops[0]), IntImm):
        return analyzer
    found = Analyzer()
    for var in loops:
        found.update(var, analyzer.const_int_bound(var))
    return found


def _scaled_parts(value: PrimExpr, analyzer: Analyzer) -> list[tuple[PrimExpr, IntImm]]:
    """The sum as `digit * size + rest` with the rest in [0, size), if it can be read so."""
    terms = terms_of(value, Add)
    scaled = [t for t in terms if isinstance(t, Mul) and isinstance(t.a, (FloorMod, FloorDiv))]
    if len(scaled) != 1 or not isinstance(scaled[0].b, IntImm):
        return []
    size = scaled[0].b
    rest = analyzer.simplify(value - scaled[0])
    bound = analyzer.const_int_bound(rest)
    fits = bound.min_value >= 0 and bound.max_value < size.value
    return [(scaled[0].a, size)] if fits else []


def _is_digit(value: PrimExpr, whole: Range, analyzer: Analyzer) -> bool:
    """True for the part of a fused loop that runs through the domain, whatever its symbols are.

        for f in range(b * n):      f // n is in [0, b),  f % n is in [0, n)

    Extents are sizes: where the loop runs at all, none of them is zero or less.
    """
    if not is_zero(whole.min):
        return False
    for digit, size in _scaled_parts(value, analyzer):  # f % n * 32 + r, in [0, n * 32)
        count = analyzer.simplify(floordiv(whole.extent, size))
        if analyzer.can_prove_equal(count * size, whole.extent):
            return _is_digit(digit, Range.from_min_extent(whole.min, count), analyzer)
    inner: PrimExpr = value
    base: PrimExpr | None = None
    if isinstance(inner, FloorMod):  # f // step % base
        base, inner = inner.b, inner.a
    step: PrimExpr = make_const(1, value.dtype)
    if isinstance(inner, FloorDiv):
        step, inner = inner.b, inner.a
    run: PrimExpr | None = None
    if base is None and isinstance(inner, FloorMod):  # f % run // step
        run, inner = inner.b, inner.a
    loop = analyzer.ranges.get(inner) if isinstance(inner, Var) else None
    if loop is None or not is_zero(loop.min):
        return False
    if base is not None:
        return analyzer.can_prove_equal(base, whole.extent)
    return analyzer.can_prove_equal(whole.extent * step, loop.extent if run is None else run)
