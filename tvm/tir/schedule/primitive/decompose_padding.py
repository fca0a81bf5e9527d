"""Fill a padded buffer with its constant first, then copy the inside without a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.op import Op
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import (
    GE,
    GT,
    LE,
    LT,
    BufferLoad,
    Call,
    FloatImm,
    IntImm,
    IterVar,
    Var,
    make_const,
)
from tvm.tir.functor import StmtExprMutator, substitute, uses_var, walk
from tvm.tir.op.arith import greater_equal, is_zero, less, logical_and, max_of, min_of
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.analysis.blocks import require_complete
from tvm.tir.schedule.analysis.query import block_of, loop_of, loops_above, realize_of, scope_of
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.scopes import ScopeEdit, edit_scope
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, For, ForKind, Stmt

KIND = kind("DecomposePadding", "decompose_padding", "block", "loop")


def decompose_padding(state: SRefTree, block: StmtSRef, loop: StmtSRef) -> StmtSRef:
    """Split the block at `loop`.

    for i in range(n + 2):                                 for i in range(n + 2): B[i] = 0
        B[i] = if_then_else(1 <= i < n + 1, A[i - 1], 0) -> for i in range(n): B[i + 1] = A[i]

    A padded dimension that is no whole loop within `loop` (a tile, or a loop outside) is not made
    shorter: the copy gets a predicate.
    """
    plan = _plan(state, block, loop)
    fill, made = _fill_nest(plan)
    inside = _inside_nest(plan)
    edit = _Decompose(loop_of(loop), [fill, inside[0]])
    edit.reuse[plan.realize.block] = inside[1]
    edit_scope(state, scope_of(block), edit)
    return state.get_sref(made)


def why_not_decomposable(state: SRefTree, block: StmtSRef, loop: StmtSRef) -> str | None:
    """A sentence why the padding cannot be decomposed, or None."""
    try:
        _plan(state, block, loop)
    except Illegal as reason:
        return reason.found
    return None


@dataclass
class Plan:
    """What a padding block does, the loops that get copies, and all loops around it."""

    realize: BlockRealize
    store: BufferStore
    inner: PrimExpr
    constant: PrimExpr
    bounds: Mapping[Var, Range]
    loops: list[For]
    around: list[For]
    outside: Analyzer  # knows the loops that get no copies: one iteration is a constant


class _Decompose(ScopeEdit):
    """Replaces the loop by the two nests."""

    def __init__(self, loop: For, nests: list[Stmt]) -> None:
        super().__init__({}, before={loop: nests[:1]})
        self._loop, self._inside = loop, nests[1]

    def visit_for_(self, op: For) -> Stmt:
        if op is self._loop:
            return self._around(op, self._inside)
        return super().visit_for_(op)


def _plan(state: SRefTree, block: StmtSRef, loop: StmtSRef) -> Plan:
    node = block_of(block)
    require_complete(state, block)
    above = loops_above(block)
    if loop not in above:
        raise Illegal(
            f"{name_of(loop.stmt)} is not around block {node.name_hint!r}",
            legal="one of the loops around the block",
            spots=[loop.stmt, node],
            fast="The loop is not an ancestor of the block",
        )
    realize = realize_of(state, block)
    nests = [loop_of(sref) for sref in above[above.index(loop) :]]
    alone = all(a.body is b for a, b in zip(nests, [*nests[1:], realize]))
    body = node.body
    parts = _padded_value(body.value) if isinstance(body, BufferStore) else None
    if parts is None or not alone:
        raise Illegal(
            f"block {node.name_hint!r} is no padding alone in its loops",
            legal="B[...] = T.if_then_else(condition, A[...], constant)",
            spots=[node],
            fast="decompose_padding expect the block to match padding pattern",
            detail="ScheduleError: decompose_padding expect the block {0} to match padding pattern",
        )
    condition, inner, constant = parts
    assert isinstance(body, BufferStore), "it has a padded value"
    bounds = _bounds(node, condition)
    if not any(_is_padded(iv, bounds) for iv in node.iter_vars):
        raise Illegal(
            f"the condition of block {node.name_hint!r} always holds: there is no padding",
            legal="a condition that leaves out some elements",
            spots=[node],
            fast="The block is not a padding pattern",
        )
    around = [loop_of(sref) for sref in above]
    for iv, value in zip(node.iter_vars, realize.iter_values):
        if _is_padded(iv, bounds):
            bounds[iv.var] = _within_reach(bounds[iv.var], value, around)
    outside = Analyzer()
    for outer in around[: len(around) - len(nests)]:
        outside.bind(outer.loop_var, Range.from_min_extent(outer.min, outer.extent))
    return Plan(realize, body, inner, constant, bounds, nests, around, outside)


def _padded_value(value: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr] | None:
    """Condition, copied value and constant of `if_then_else(condition, A[...], constant)`."""
    if not isinstance(value, Call) or not isinstance(value.op, Op):
        return None
    if value.op.name != "tir.if_then_else":
        return None
    condition, inner, constant = value.args
    if not isinstance(inner, BufferLoad) or not isinstance(constant, (IntImm, FloatImm)):
        return None
    return condition, inner, constant


def _bounds(node: Block, condition: PrimExpr) -> dict[Var, Range]:
    """The range of each variable within which the condition holds; refused for other conditions."""
    analyzer = Analyzer()
    low = {iv.var: iv.dom.min for iv in node.iter_vars if iv.dom is not None}
    high = {iv.var: iv.dom.min + iv.dom.extent for iv in node.iter_vars if iv.dom is not None}
    for part in conjuncts(condition):
        names = [n for n in dict.fromkeys(walk(part)) if isinstance(n, Var) and n in low]
        if len(names) != 1 or not isinstance(part, (GE, GT, LE, LT)):
            raise Illegal(
                f"the condition {part} is no bound of one variable",
                legal="conditions such as `1 <= v` and `v < n`, joined by and",
                spots=[node],
                fast="The padding predicate is not a conjunction of bounds",
            )
        (var,) = names
        big, small = (part.a, part.b) if isinstance(part, (GE, GT)) else (part.b, part.a)
        strict = 1 if isinstance(part, (GT, LT)) else 0
        # big >= small + strict, where the variable stands alone on one side
        if small is var:
            high[var] = analyzer.simplify(min_of(high[var], big - strict + 1))
        elif big is var:
            low[var] = analyzer.simplify(max_of(low[var], small + strict))
        else:
            difference = analyzer.simplify(big - small - strict)
            shift = analyzer.simplify(difference - var)
            if uses_var(shift, var):
                raise Illegal(
                    f"the condition {part} does not bound {var.name!r} by itself",
                    legal="conditions such as `1 <= v` and `v < n`, joined by and",
                    spots=[node],
                    fast="The padding predicate is not a conjunction of bounds",
                )
            low[var] = analyzer.simplify(max_of(low[var], -shift))
    return {
        var: Range.from_min_extent(low[var], analyzer.simplify(high[var] - low[var])) for var in low
    }


def _within_reach(bound: Range, value: PrimExpr, loops: Sequence[For]) -> Range:
    """The part of the bound that the loops run through; all of it where that is not known."""
    analyzer = Analyzer()
    for loop in loops:
        analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    reached = analyzer.const_int_bound(value)
    if not (isinstance(bound.min, IntImm) and isinstance(bound.extent, IntImm)):
        return bound
    low = max(bound.min.value, reached.min_value)
    high = min(bound.min.value + bound.extent.value, reached.max_value + 1)
    if low >= high:
        return bound
    return Range.from_min_extent(
        make_const(low, bound.min.dtype), make_const(high - low, bound.extent.dtype)
    )


def _is_padded(iv: IterVar, bounds: Mapping[Var, Range]) -> bool:
    """The condition leaves out some values of the variable."""
    if iv.dom is None:
        return False
    return not Analyzer().can_prove_equal(bounds[iv.var].extent, iv.dom.extent)


def _whole_loop(plan: Plan, iv: IterVar, value: PrimExpr) -> For | None:
    """The copied loop that runs through the values of the variable and does nothing else."""
    others = [*plan.realize.iter_values, plan.realize.predicate]
    if sum([node is value for other in others for node in walk(other)]) != 1:
        return None
    for loop in plan.loops:
        if loop.loop_var is value and loop.kind is not ForKind.THREAD_BINDING:
            dom = iv.dom
            if dom is None or not is_zero(loop.min) or not is_zero(dom.min):
                return None
            known = isinstance(loop.extent, IntImm) and isinstance(dom.extent, IntImm)
            equal = known or Analyzer().can_prove_equal(loop.extent, dom.extent)
            return loop if equal else None
    return None


def _fill_nest(plan: Plan) -> tuple[Stmt, Block]:
    """The constant everywhere."""
    node = plan.realize.block
    renamed: dict[Var, PrimExpr] = {
        iv.var: iv.var.copy_with_name(iv.var.name) for iv in node.iter_vars
    }
    iter_vars = [IterVar(iv.dom, _var(renamed[iv.var]), iv.iter_type) for iv in node.iter_vars]
    indices = substitute(list(plan.store.indices), renamed)
    block = Block(
        iter_vars, [], [BufferRegion.from_point(plan.store.buffer, indices)],
        f"{node.name_hint}_pad_const", BufferStore(plan.store.buffer, plan.constant, indices),
        span=node.span,
    )  # fmt: skip
    loops: dict[Var, PrimExpr] = {
        f.loop_var: f.loop_var.copy_with_name(f.loop_var.name) for f in plan.loops
    }
    values = [plan.outside.simplify(v) for v in substitute(list(plan.realize.iter_values), loops)]
    predicate = substitute(plan.realize.predicate, loops)
    body: Stmt = BlockRealize(values, predicate, block, plan.realize.span)
    for old in reversed(plan.loops):
        body = For(
            _var(loops[old.loop_var]), old.min, old.extent, old.kind, body, old.thread_binding,
            old.annotations, old.span,
        )  # fmt: skip
    return body, block


def _inside_nest(plan: Plan) -> tuple[Stmt, Block]:
    """The copy, over the inside only."""
    node = plan.realize.block
    analyzer = Analyzer()
    around = Analyzer()
    for outer in plan.around:
        around.bind(outer.loop_var, Range.from_min_extent(outer.min, outer.extent))
    shifted: dict[Var, PrimExpr] = {}
    iter_vars: list[IterVar] = []
    values: list[PrimExpr] = []
    extents: dict[Var, PrimExpr] = {}
    predicate = plan.realize.predicate
    for iv, value in zip(node.iter_vars, plan.realize.iter_values):
        dom = iv.dom
        if _is_padded(iv, plan.bounds):
            bound = plan.bounds[iv.var]
            dom = Range.from_min_extent(bound.min * 0, bound.extent)
            shifted[iv.var] = iv.var + bound.min
            loop = _whole_loop(plan, iv, value)
            if loop is not None:
                extents[loop.loop_var] = bound.extent
            else:
                ends = (greater_equal(value, bound.min), less(value, bound.min + bound.extent))
                for inside in ends:
                    if not around.can_prove(inside):
                        predicate = logical_and(predicate, Analyzer().simplify(inside))
                value = value if is_zero(bound.min) else value - bound.min
        assert dom is not None, "block variables have domains"
        analyzer.bind_domain(iv.var, dom)
        iter_vars.append(IterVar(dom, iv.var, iv.iter_type, iv.thread_tag, iv.span))
        values.append(plan.outside.simplify(value))
    rule = _Shift(shifted, analyzer)
    indices = [rule.visit_expr(index) for index in plan.store.indices]
    load = rule.visit_expr(plan.inner)
    assert isinstance(load, BufferLoad), "a load stays a load"
    body = BufferStore(plan.store.buffer, load, indices, None, plan.store.span)
    block = change_block(
        node, iter_vars=iter_vars, body=body,
        reads=[BufferRegion.from_point(load.buffer, load.indices)],
        writes=[BufferRegion.from_point(plan.store.buffer, indices)],
    )  # fmt: skip
    nest: Stmt = BlockRealize(values, predicate, block, plan.realize.span)
    for old in reversed(plan.loops):
        extent = extents.get(old.loop_var, old.extent)
        nest = For(
            old.loop_var, old.min, extent, ForKind(old.kind), nest, old.thread_binding,
            old.annotations, old.span,
        )  # fmt: skip
    return nest, block


class _Shift(StmtExprMutator):
    """Replaces variables and simplifies the indices in which they stood."""

    def __init__(self, values: Mapping[Var, PrimExpr], analyzer: Analyzer) -> None:
        super().__init__()
        analyzer.rewriter.keeps_nan = True  # numbers may be chosen by comparisons of floats
        self._values, self._analyzer = values, analyzer

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if expr.dtype.is_integer and expr.dtype.is_scalar and not isinstance(expr, BufferLoad):
            return self._analyzer.simplify(substitute(expr, self._values))
        return super().visit_expr(expr)


def _var(expr: PrimExpr) -> Var:
    assert isinstance(expr, Var), "a renamed variable"
    return expr
