"""What primitives on loops share: plain loops, predicates, simplified bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tvm.arith import Analyzer, iter_map_simplify
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm, Var
from tvm.tir.functor import uses_any, vars_in, walk
from tvm.tir.op.arith import is_one, is_zero, logical_and
from tvm.tir.stmt import Block, BlockRealize, For, Stmt

from .analysis.affine import loop_ranges
from .analysis.query import loops_above
from .error import Illegal
from .rebuild import TrackingMutator, TrackingSubstituter, chain
from .tree import SRefTree


def require_plain(loop: For, asked: str) -> None:
    """Refuse loops with annotations or thread bindings, and those that do not start at zero."""
    if loop.annotations or loop.thread_binding is not None:
        what = "annotations" if loop.annotations else "a thread binding"
        raise Illegal(
            f"the loop {loop.loop_var.name!r} has {what}",
            legal=f"{asked} first, then bind or annotate the results",
            spots=[loop],
            fast="The primitive can't be applied because the loop has annotation or thread binding",
        )
    require_zero_start(loop)


def require_zero_start(loop: For) -> None:
    """Refuse loops that do not start at zero."""
    if not (is_zero(loop.min) or Analyzer().can_prove_equal(loop.min, 0)):
        raise Illegal(
            f"the loop {loop.loop_var.name!r} starts at {loop.min}",
            legal="loops that start at zero",
            spots=[loop],
            fast="The primitive only supports loop starting with 0",
        )


class _Substituter(TrackingSubstituter):
    """Replaces loop variables; blocks that do not mention them directly are not looked into."""

    def visit_block_(self, op: Block) -> Stmt:
        if not uses_any(op, self._values):
            return op
        return super().visit_block_(op)


def substitute_loops(
    stmt: Stmt, values: Mapping[Var, PrimExpr]
) -> tuple[Stmt, dict[Block, Block]]:
    """`stmt` with loop variables replaced, and what became of the blocks that use them."""
    rule = _Substituter(values)
    return rule.visit_stmt(stmt), rule.reuse


def add_predicate(stmt: Stmt, predicate: PrimExpr) -> Stmt:
    """Run the blocks below `stmt` only where the predicate holds too."""
    if is_one(predicate):
        return stmt
    return _Predicate(predicate).visit_stmt(stmt)


class _Predicate(TrackingMutator):
    def __init__(self, predicate: PrimExpr) -> None:
        super().__init__()
        self._predicate = predicate

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        both = logical_and(op.predicate, self._predicate)
        return BlockRealize(op.iter_values, both, op.block, op.span)


class _Simplifier(TrackingMutator):
    """Rewrites the bindings of blocks as sums of splits of the loops."""

    def __init__(self, ranges: Mapping[Var, Range], drop_unit: bool) -> None:
        super().__init__()
        self._ranges = dict(ranges)
        self._drop_unit = drop_unit

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: For) -> Stmt:
        self._ranges[op.loop_var] = Range.from_min_extent(op.min, op.extent)
        new = super().visit_for_(op)
        del self._ranges[op.loop_var]
        return new

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        if not op.iter_values:
            return super().visit_block_realize_(op)  # blocks without variables hide others
        if all(isinstance(v, (Var, IntImm)) for v in op.iter_values) and not self._drop_unit:
            return op
        values = self._simplified(op)
        if all(a is b for a, b in zip(values, op.iter_values)):
            return op
        return BlockRealize(values, op.predicate, op.block, op.span)

    def _simplified(self, op: BlockRealize) -> list[PrimExpr]:
        values = iter_map_simplify(
            list(op.iter_values), self._ranges, op.predicate,
            simplify_trivial_iterators=self._drop_unit,
        )  # fmt: skip
        if self._drop_unit:
            return values
        units = {var for var, rng in self._ranges.items() if is_one(rng.extent)}
        return [self._kept(old, new, units) for old, new in zip(op.iter_values, values)]

    def _kept(self, old: PrimExpr, new: PrimExpr, units: set[Var]) -> PrimExpr:
        """A simplified binding that names its loops of one iteration."""
        return self._with_units(old, units) if self._lost(units, old, new) else new

    def _lost(self, units: set[Var], old: PrimExpr, new: PrimExpr) -> bool:
        """True if a loop of one iteration is no more in what is bound."""
        left = set(vars_in(new))
        return any(n in units and n not in left for n in walk(old))

    def _with_units(self, value: PrimExpr, units: set[Var]) -> PrimExpr:
        """A binding simplified as if its loops of one iteration had more, so that they stay."""
        analyzer = Analyzer()
        for var, rng in self._ranges.items():
            if var not in units:
                analyzer.bind(var, rng)
        return value if isinstance(value, Var) else analyzer.canonical_simplify(value)


def simplify_bindings(
    stmt: Stmt, outer: Sequence[StmtSRef], preserve_unit_iters: bool
) -> tuple[Stmt, dict[Block, Block]]:
    """`stmt` with simplified block bindings; `outer` are the loops around it."""
    rule = _Simplifier(loop_ranges(outer), not preserve_unit_iters)
    return rule.visit_stmt(stmt), rule.reuse


def require_chain(loops: Sequence[StmtSRef]) -> None:
    """Refuse loops that do not nest directly in each other in the given order."""
    for outer, inner in pairwise(loops):
        above, below = outer.stmt, inner.stmt
        assert isinstance(above, For), "a resolved loop"
        assert isinstance(below, For), "a resolved loop"
        if above.body is below:
            continue
        if inner.parent is not outer:
            raise Illegal(
                f"the loop {below.loop_var.name!r} is not directly inside "
                f"{above.loop_var.name!r}",
                legal="loops in the order of their nesting, each directly around the next",
                spots=[above, below],
                fast="The outer loop is not the parent of the inner loop",
                detail="The loops can't be fused because the outer loop {0} is not the parent of "
                "the inner loop {1}",
            )
        raise Illegal(
            f"the body of the loop {above.loop_var.name!r} holds more than the loop "
            f"{below.loop_var.name!r}",
            legal="a loop whose whole body is the next one",
            spots=[above, below],
            fast="The inner loop is not the only child of outer loop",
            detail="The loops can't be fused because the inner loop {1} is not the only child of "
            "outer loop {0}",
        )


def require_same_scope_loops(loops: Sequence[StmtSRef]) -> None:
    """Refuse a loop that is given twice."""
    if len(set(loops)) != len(loops):
        twice = next(sref for i, sref in enumerate(loops) if sref in loops[:i])
        loop = twice.stmt
        assert isinstance(loop, For), "resolved loops"
        raise Illegal(
            f"the loop {loop.loop_var.name!r} is given more than once",
            legal="different loops",
            spots=[loop],
            fast="Some loop appears in the input array for multiple times.",
            detail="Loop {0} appears in the input array for multiple times.",
        )


def commit_loops(
    state: SRefTree, top: StmtSRef, new: Stmt, reuse: Mapping[Block, Block], preserve: bool
) -> Stmt:
    """Replace the loop `top` by `new`, its bindings simplified; returns the result."""
    simple, more = simplify_bindings(new, loops_above(top), preserve)
    state.replace(top, simple, chain(reuse, more))
    return simple
