"""Make a block of its own of a loop and all that is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer, IterMark, normalize_iter_map_to_expr, subspace_divide
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, Var, make_const
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.op.arith import is_one, logical_and
from tvm.tir.schedule.analysis.affine import conjuncts, loop_ranges, relax_upper
from tvm.tir.schedule.analysis.query import loop_of, loops_above, realize_of
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import TrackingMutator, change_block
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, ForKind, Stmt

KIND = kind("Blockize", "blockize", "target", "=preserve_unit_iters")


def blockize(state: SRefTree, target: StmtSRef, preserve_unit_iters: bool) -> StmtSRef:
    """Divide the block's variables into parts outside and inside of the loop.

    for io: for ii:                        for io:
        vi = io * n + ii             ->        block: vio = io
        S(vi)                                      for ii: vii = ii; S(vio * n + vii)
    """
    loop = loop_of(target)
    children = state.child_blocks(target)
    if len(children) != 1:
        raise Illegal(
            f"{name_of(loop)} holds {len(children)} blocks",
            legal="a loop around exactly one block",
            spots=[loop],
            fast="The loop subtree does not have exactly one block",
        )
    realize = realize_of(state, children[0])
    made = divided(state, target, children[0], realize, preserve_unit_iters)
    inner_realize = BlockRealize(made.inner_values, made.inner_predicate, made.inner, realize.span)
    swap = _Swap(realize, inner_realize)
    body = swap.visit_stmt(loop)
    init = None
    if made.init is not None:
        init = _init_nest(loop, realize, made)
    reads, writes = _outer_regions(made)
    outer = Block(
        made.outer_iters, reads, writes, f"{realize.block.name_hint}_o", body, init,
        span=realize.block.span,
    )  # fmt: skip
    whole = BlockRealize(made.outer_values, made.outer_predicate, outer, realize.span)
    state.replace(target, whole, swap.reuse)
    return state.get_sref(outer)


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


def divided(
    state: SRefTree,
    loop: StmtSRef,
    block: StmtSRef,
    realize: BlockRealize,
    preserve_unit_iters: bool,
) -> Divided:
    """Divide the variables at a loop; refused where a binding mixes outer and inner loops."""
    above = loops_above(block)
    inside = above[above.index(loop) :]
    parts = subspace_divide(
        list(realize.iter_values),
        loop_ranges(above),
        [loop_of(sref).loop_var for sref in inside],
        realize.predicate,
        simplify_trivial_iterators=not preserve_unit_iters,
    )
    if not parts:
        raise Illegal(
            f"the variables of block {realize.block.name_hint!r} cannot be divided into parts "
            f"outside and inside of {name_of(loop.stmt)}",
            legal="affine bindings whose splits lie between the loops",
            spots=[loop.stmt, realize.block],
            fast="The bindings cannot be divided by the loop",
        )
    *pairs, (outer_part, inner_part) = parts
    outside, within = _free_guards(realize, [loop_of(sref) for sref in inside])
    found = Divided(
        [], [], logical_and(outer_part.extent, outside), [], [],
        logical_and(inner_part.extent, within), realize.block, None,
    )  # fmt: skip
    values: dict[Var, PrimExpr] = {}
    analyzer = Analyzer()
    for iv, (outer, inner) in zip(realize.block.iter_vars, pairs):
        values[iv.var] = _split_variable(found, iv, outer, inner, preserve_unit_iters, analyzer)
    rule = _Simplify(values, analyzer)
    node = realize.block
    init = None if node.init is None else rule.visit_stmt(node.init)
    body = rule.visit_stmt(change_block(node, iter_vars=[], init=None))
    assert isinstance(body, Block), "a block stays a block"
    found.inner = change_block(body, iter_vars=found.inner_iters)
    found.init = init
    return found


def _free_guards(
    realize: BlockRealize, inside: Sequence[For]
) -> tuple[PrimExpr, PrimExpr]:
    """Conditions on loops that no variable is bound to, outside and inside of the new block."""
    bound = {n for value in realize.iter_values for n in walk(value) if isinstance(n, Var)}
    inner_vars = {loop.loop_var for loop in inside}
    outer: PrimExpr = TRUE
    inner: PrimExpr = TRUE
    for part in conjuncts(realize.predicate):
        names = {n for n in walk(part) if isinstance(n, Var)}
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
    found: Divided, iv: IterVar, outer: IterMark, inner: IterMark, keep: bool, analyzer: Analyzer
) -> PrimExpr:
    """Add the outer and inner variable of one old variable; returns the old one's value."""
    outer_extent, inner_extent = outer.extent, inner.extent
    outer_value = normalize_iter_map_to_expr(outer.source)
    inner_value = normalize_iter_map_to_expr(inner.source)
    if is_one(inner_extent):
        found.outer_iters.append(IterVar(iv.dom, iv.var, iv.iter_type, iv.thread_tag, iv.span))
        found.outer_values.append(outer_value)
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
        return iv.var
    inner_var = iv.var.copy_with_suffix("_i")
    dom = Range.from_min_extent(make_const(0, iv.var.dtype), inner_extent)
    found.inner_iters.append(IterVar(dom, inner_var, iv.iter_type, iv.thread_tag, iv.span))
    found.inner_values.append(inner_value)
    analyzer.bind(inner_var, dom)
    if is_one(outer_extent) and not keep:
        return inner_var
    outer_var = iv.var.copy_with_suffix("_o")
    dom = Range.from_min_extent(make_const(0, iv.var.dtype), outer_extent)
    found.outer_iters.append(IterVar(dom, outer_var, iv.iter_type, iv.thread_tag, iv.span))
    found.outer_values.append(outer_value)
    analyzer.bind(outer_var, dom)
    return outer_var * inner_extent + inner_var


class _Simplify(StmtExprMutator):
    """Replaces variables and simplifies the indices in which they stood."""

    def __init__(self, values: Mapping[Var, PrimExpr], analyzer: Analyzer) -> None:
        super().__init__()
        self._values, self._analyzer = values, analyzer

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if expr.dtype.is_integer and expr.dtype.is_scalar:
            if any(isinstance(n, Var) and n in self._values for n in walk(expr)):
                return self._analyzer.simplify(substitute(expr, self._values))
            return expr
        return super().visit_expr(expr)

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._values.get(op, op)


class _Swap(TrackingMutator):
    """Puts one realize in place of another."""

    def __init__(self, old: BlockRealize, new: BlockRealize) -> None:
        super().__init__()
        self._old, self._new = old, new
        self.reuse[old.block] = new.block

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        return self._new if op is self._old else op


def _outer_regions(made: Divided) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """What the inner block touches while its variables run."""
    ranges = {iv.var: iv.dom for iv in made.inner_iters if iv.dom is not None}
    analyzer = Analyzer()
    for iv in made.outer_iters:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)

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


def _init_nest(loop: For, realize: BlockRealize, made: Divided) -> Stmt:
    """The init of the inner block in loops of its own, over its spatial variables."""
    assert made.init is not None, "asked for only with an init"
    renamed: dict[Var, PrimExpr] = {}
    iter_vars: list[IterVar] = []
    values: list[PrimExpr] = []
    for iv, value in zip(made.inner_iters, made.inner_values):
        if iv.iter_type == IterVar.DataPar:
            copy = iv.var.copy_with_suffix("_init")
            renamed[iv.var] = copy
            iter_vars.append(IterVar(iv.dom, copy, iv.iter_type))
            values.append(value)
    used = {n for value in values for n in walk(value) if isinstance(n, Var)}
    loops: list[For] = []
    stmt: Stmt = loop
    while isinstance(stmt, For):
        if stmt.loop_var in used:
            loops.append(stmt)
        stmt = stmt.body
    fresh: dict[Var, PrimExpr] = {f.loop_var: f.loop_var.copy_with_suffix("_init") for f in loops}
    writes = [
        BufferRegion(w.buffer, substitute(list(w.region), renamed)) for w in made.inner.writes
    ]
    name = f"{realize.block.name_hint}_init"
    block = Block(iter_vars, [], writes, name, substitute(made.init, renamed), span=made.init.span)
    inside: PrimExpr = TRUE
    for part in conjuncts(made.inner_predicate):
        if not is_one(part) and all(not isinstance(n, Var) or n in fresh for n in walk(part)):
            inside = logical_and(inside, substitute(part, fresh))
    body: Stmt = BlockRealize(substitute(values, fresh), inside, block)
    for old in reversed(loops):
        var = fresh[old.loop_var]
        assert isinstance(var, Var), "a copy of a loop variable"
        body = For(var, old.min, old.extent, ForKind.SERIAL, body, span=old.span)
    return body
