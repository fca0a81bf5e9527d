"""A block's variables in two parts: those of a block around it, and those that stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tvm.arith import Analyzer, IterMark, normalize_iter_map_to_expr, subspace_divide
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.structural import structural_equal
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, IterVar, Var, make_const
from tvm.tir.functor import StmtExprMutator, substitute, uses_any, vars_in, walk
from tvm.tir.op.arith import is_one, is_zero, logical_and, max_of, min_of
from tvm.tir.op.forms import conjuncts
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, Stmt

from .analysis.affine import loop_ranges, relax_upper
from .analysis.query import loop_of
from .error import Illegal
from .rebuild import TrackingSubstituter, change_block
from .scopes import TRUE


@dataclass
class Divided:
    """The two parts of a block's variables, and the block in terms of them."""

    outer_iters: list[IterVar]
    outer_values: list[PrimExpr]
    outer_predicate: PrimExpr
    inner_iters: list[IterVar]
    inner_values: list[PrimExpr]
    inner_predicate: PrimExpr
    inner: Block
    init: Stmt | None
    loops: dict[Var, Range]  # inside of the outer block; blocks without variables name them


def divided(
    realize: BlockRealize,
    above: Sequence[StmtSRef],
    inside: Sequence[StmtSRef],
    preserve_unit_iters: bool,
) -> Divided:
    """Divide the variables of a block; `inside` are the inner ones of the loops above it.

    Refused where a binding mixes outer and inner loops.
    """
    bindings, ranges = list(realize.iter_values), loop_ranges(above)
    inner_vars = [loop_of(sref).loop_var for sref in inside]
    # a loop of one iteration beside another of the same stride is divided only as nothing
    for simplify in (False, True) if preserve_unit_iters else (True,):
        parts = subspace_divide(
            bindings, ranges, inner_vars, realize.predicate, simplify_trivial_iterators=simplify
        )
        if parts:
            break
    parts = parts or _without_mixing(realize, above, inside)
    if not parts or any(_is_shifted(outer, inner) for outer, inner in parts[:-1]):
        raise Illegal(
            f"the variables of block {realize.block.name_hint!r} cannot be divided into parts "
            "outside and inside of the new block",
            legal="affine bindings whose splits lie between the loops",
            spots=[*[sref.stmt for sref in inside[:1]], realize.block],
            fast="The bindings cannot be divided by the loop",
        )
    *pairs, (outer_part, inner_part) = parts
    outside, within = _free_guards(realize, ranges, inner_vars)
    found = Divided(
        [], [], logical_and(outer_part.extent, outside), [], [],
        logical_and(inner_part.extent, within), realize.block, None,
        loop_ranges(inside),
    )  # fmt: skip
    values: dict[Var, PrimExpr] = {}
    analyzer = Analyzer()
    for iv, (outer, inner) in zip(realize.block.iter_vars, pairs):
        value = _split_variable(found, iv, outer, inner, analyzer)
        if not preserve_unit_iters and is_one(outer.extent) and is_one(inner.extent):
            value = make_const(0, iv.var.dtype)
        values[iv.var] = value
    rule = _Simplify(values, analyzer)
    node = realize.block
    init = None if node.init is None else rule.visit_stmt(node.init)
    body = rule.visit_stmt(change_block(node, iter_vars=[], init=None))
    assert isinstance(body, Block), "a block stays a block"
    found.inner = change_block(body, iter_vars=found.inner_iters)
    found.init = init
    return found


def _without_mixing(
    realize: BlockRealize, above: Sequence[StmtSRef], inside: Sequence[StmtSRef]
) -> list[list[IterMark]]:
    """The division where each binding is of one side: it stays whole there, affine or not."""
    within = {loop_of(sref).loop_var for sref in inside}
    outside = {loop_of(sref).loop_var for sref in above} - within
    parts: list[list[IterMark]] = []
    for iv, value in zip(realize.block.iter_vars, realize.iter_values):
        assert iv.dom is not None, "block variables have domains"
        whole = IterMark(value, iv.dom.extent)
        none = IterMark(make_const(0, value.dtype), make_const(1, value.dtype))
        if not uses_any(value, within):
            parts.append([whole, none])
        elif not uses_any(value, outside):
            parts.append([none, whole])
        else:
            return []
    guards: list[PrimExpr] = [TRUE, TRUE]
    for part in conjuncts(realize.predicate):
        if uses_any(part, within) and uses_any(part, outside):
            return []
        side = 1 if uses_any(part, within) else 0
        guards[side] = logical_and(guards[side], part)
    zero = IntImm("int32", 0)
    return [*parts, [IterMark(zero, guard) for guard in guards]]


def _start(inner: IterMark) -> PrimExpr | None:
    """Where an inner part begins; None for zero."""
    base: PrimExpr | None = getattr(inner.source, "base", None)
    return None if base is None or is_zero(base) else base


def _is_shifted(outer: IterMark, inner: IterMark) -> bool:
    """The inner part does not start at zero in each of the outer ones."""
    return _start(inner) is not None and not is_one(outer.extent)


def _free_guards(
    realize: BlockRealize, loops: Mapping[Var, Range], inside: Sequence[Var]
) -> tuple[PrimExpr, PrimExpr]:
    """Conditions on what no variable is bound to, outside and inside of the new block.

    These are loops without use, and all that stands outside of the scope of the block.
    """
    bound = {n for value in realize.iter_values for n in walk(value) if n in loops}
    inner_vars = set(inside)
    outer: PrimExpr = TRUE
    inner: PrimExpr = TRUE
    for part in conjuncts(realize.predicate):
        names = set(vars_in(part))
        if not names or names & bound:
            continue
        if names & inner_vars and names - inner_vars:
            raise Illegal(
                f"the condition {part} joins loops outside and inside of the new block",
                legal="conditions on loops of one side",
                spots=[realize.block],
                fast="The predicate cannot be divided by the loop",
            )
        if names & inner_vars:
            inner = logical_and(inner, part)
        else:
            outer = logical_and(outer, part)
    return outer, inner


def _split_variable(
    found: Divided, iv: IterVar, outer: IterMark, inner: IterMark, analyzer: Analyzer
) -> PrimExpr:
    """Add the outer and inner variable of one old variable; returns the old one's value."""
    outer_extent, inner_extent = outer.extent, inner.extent
    outer_value = normalize_iter_map_to_expr(outer.source)
    inner_value = normalize_iter_map_to_expr(inner.source)
    outer_var = iv.var.copy_with_suffix("_o")
    if is_one(inner_extent):
        found.outer_iters.append(IterVar(iv.dom, outer_var, iv.iter_type, iv.thread_tag, iv.span))
        found.outer_values.append(outer_value)
        if iv.dom is not None:
            analyzer.bind_domain(outer_var, iv.dom)
        return outer_var
    inner_var = iv.var.copy_with_suffix("_i")
    # with one outer part the inner one may begin anywhere, as the old variable did
    start = _start(inner) if is_one(outer_extent) else None
    low = make_const(0, iv.var.dtype) if start is None else start
    dom = Range.from_min_extent(low, inner_extent)
    found.inner_iters.append(IterVar(dom, inner_var, iv.iter_type, iv.thread_tag, iv.span))
    found.inner_values.append(inner_value)
    analyzer.bind_domain(inner_var, dom)
    dom = Range.from_min_extent(make_const(0, iv.var.dtype), outer_extent)
    found.outer_iters.append(IterVar(dom, outer_var, iv.iter_type, iv.thread_tag, iv.span))
    found.outer_values.append(outer_value)
    analyzer.bind_domain(outer_var, dom)
    return inner_var if is_one(outer_extent) else outer_var * inner_extent + inner_var


class _Simplify(StmtExprMutator):
    """Replaces variables and simplifies the expressions in which they stood."""

    def __init__(self, values: Mapping[Var, PrimExpr], analyzer: Analyzer) -> None:
        super().__init__()
        analyzer.rewriter.keeps_nan = True  # numbers may be chosen by comparisons of floats
        self._values, self._analyzer = values, analyzer

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if not uses_any(expr, self._values):
            return expr
        return self._analyzer.simplify(substitute(expr, self._values))


def outer_regions(made: Divided) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """What the inner block touches while its variables run."""
    ranges = {iv.var: iv.dom for iv in made.inner_iters if iv.dom is not None}
    ranges.update(made.loops)
    analyzer = Analyzer()
    for iv in made.outer_iters:
        if iv.dom is not None:
            analyzer.bind_domain(iv.var, iv.dom)

    def widened(regions: Sequence[BufferRegion]) -> list[BufferRegion]:
        found: list[BufferRegion] = []
        for region in regions:
            box = relax_upper(region.region, ranges, region.buffer.shape, analyzer)
            parts = [
                Range.from_min_extent(low, analyzer.simplify(high - low + 1))
                for low, high in zip(box.low, box.high)
            ]
            found.append(BufferRegion(region.buffer, parts))
        return found

    return widened(made.inner.reads), widened(made.inner.writes)


class OuterPart:
    """The variables, condition and regions of a block around several divided ones."""

    def __init__(self) -> None:
        self.iters: list[IterVar] = []
        self.values: list[PrimExpr] = []
        self._reads: list[BufferRegion] = []
        self._writes: list[BufferRegion] = []
        self.predicate: PrimExpr = TRUE
        self._several = False

    def share(self, made: Divided) -> Divided:
        """The divided block, in terms of variables that all of them share."""
        if self._several and not expr_deep_equal(self.predicate, made.outer_predicate):
            raise Illegal(
                f"block {made.inner.name_hint!r} runs where {made.outer_predicate}, a block before "
                f"it where {self.predicate}",
                legal="blocks under the same condition on the loops they share",
                spots=[],
                fast="The blocks have different predicates",
            )
        self._several, self.predicate = True, made.outer_predicate
        shared: dict[Var, PrimExpr] = {}
        others = list(zip(self.iters, self.values))  # each stands for one variable of a block
        for iv, value in zip(made.outer_iters, made.outer_values):
            known = _alike(others, iv, value)
            if known is None:
                self.iters.append(iv)
                self.values.append(value)
            else:
                others.remove(known)
                shared[iv.var] = known[0].var
        inner = change_block(made.inner, init=_own_init(made))
        if shared:
            rule = TrackingSubstituter(shared)
            new = rule.visit_stmt(inner)
            assert isinstance(new, Block), "a block stays a block"
            inner = new
        moved = replace(made, inner=inner)
        reads, writes = outer_regions(moved)
        self._reads += reads
        self._writes += writes
        return moved

    @property
    def reads(self) -> list[BufferRegion]:
        """All that the blocks read, also what an earlier one of them wrote."""
        return _joined(self._reads)

    @property
    def writes(self) -> list[BufferRegion]:
        """All that the blocks write."""
        return _joined(self._writes)


def _alike(
    others: Sequence[tuple[IterVar, PrimExpr]], iv: IterVar, value: PrimExpr
) -> tuple[IterVar, PrimExpr] | None:
    for pair in others:
        same = pair[0].iter_type == iv.iter_type and structural_equal(pair[0].dom, iv.dom)
        if same and expr_deep_equal(pair[1], value):
            return pair
    return None


def _own_init(made: Divided) -> Stmt | None:
    """The init of a block whose reduction is all inside; refused for any other."""
    outside = [iv for iv in made.outer_iters if iv.iter_type != IterVar.DataPar]
    if made.init is not None and not all(iv.dom and is_one(iv.dom.extent) for iv in outside):
        raise Illegal(
            f"block {made.inner.name_hint!r} reduces over loops outside of the new block",
            legal="blocks whose reductions are all inside (decompose_reduction takes an init out)",
            spots=[],
            fast="The reduction of a block would be divided",
        )
    return made.init


def _joined(regions: Sequence[BufferRegion]) -> list[BufferRegion]:
    """One region a buffer, the one met last first: the box around all of its regions."""
    found: dict[Buffer, list[BufferRegion]] = {}
    for region in regions:
        found.setdefault(region.buffer, []).append(region)
    return [_box(buffer, found[buffer]) for buffer in reversed(found)]


def _box(buffer: Buffer, regions: Sequence[BufferRegion]) -> BufferRegion:
    analyzer = Analyzer()
    parts: list[Range] = []
    for same in zip(*[region.region for region in regions]):
        low, high = same[0].min, same[0].min + same[0].extent
        for rng in same[1:]:
            low = analyzer.simplify(min_of(low, rng.min))
            high = analyzer.simplify(max_of(high, rng.min + rng.extent))
        parts.append(Range.from_min_extent(low, analyzer.simplify(high - low)))
    return BufferRegion(buffer, parts)
