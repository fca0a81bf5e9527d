"""Make several nested loops of one."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.arith.scalable import uses_vscale, vscale_values
from tvm.ir.expr import PrimExpr, Range
from tvm.target import Target
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm, as_expr, make_const
from tvm.tir.op.arith import cast, ceildiv, floordiv, less, multiply
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.query import loop_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.loops import add_predicate, commit_loops, require_plain, substitute_loops
from tvm.tir.schedule.rebuild import nest
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import For

KIND = kind(
    "Split", "split", "loop", "*factors", "=preserve_unit_iters", "=disable_predication",
    many=True,
)  # fmt: skip
Factor = PrimExpr | int | None


def split(
    state: SRefTree,
    loop: StmtSRef,
    factors: Sequence[Factor],
    preserve_unit_iters: bool,
    disable_predication: bool,
) -> list[StmtSRef]:
    """Make the nest; where the factors do not divide the extent, the blocks get a predicate.

    for i in range(n): S(i)
    ->
    for i_0 in range(ceildiv(n, f)):
        for i_1 in range(f):
            if i_0 * f + i_1 < n: S(i_0 * f + i_1)
    """
    node = loop_of(loop)
    require_plain(node, "split")
    analyzer = analyzer_at(loop)
    extents = loop_extents(node, factors, analyzer)
    new_vars = [node.loop_var.copy_with_suffix(f"_{i}") for i in range(len(extents))]
    value: PrimExpr = make_const(0, node.loop_var.dtype)
    for var, extent in zip(new_vars, extents):
        value = value * extent + var
        analyzer.bind(var, Range.from_min_extent(make_const(0, var.dtype), extent))
    body, reuse = substitute_loops(node.body, {node.loop_var: value})
    inside = less(value, node.extent)
    exact = disable_predication or _is_exact(node, extents, analyzer)
    if not exact and not analyzer.can_prove(inside):
        body = add_predicate(body, inside)
    outer = nest(list(zip(new_vars, extents)), body)
    made = commit_loops(state, loop, outer, reuse, preserve_unit_iters)
    return state.loops_of_vars(made, new_vars)


def _is_exact(node: For, extents: Sequence[PrimExpr], analyzer: Analyzer) -> bool:
    """True if the new loops run exactly as often as the old one, also for symbolic extents."""
    product: PrimExpr = make_const(1, node.loop_var.dtype)
    for extent in extents:
        product = multiply(product, extent)
    return analyzer.can_prove_equal(product, node.extent)


def loop_extents(node: For, factors: Sequence[Factor], analyzer: Analyzer) -> list[PrimExpr]:
    """The extents of the new loops; refused if they cannot cover the old one."""
    dtype = node.loop_var.dtype
    given = [None if f is None else analyzer.simplify(cast(as_expr(f), dtype)) for f in factors]
    if not given:
        raise Illegal("no factors are given", legal="at least one factor", spots=[node])
    for position, factor in enumerate(given):
        if factor is not None and analyzer.can_prove(factor <= 0):
            raise Illegal(
                f"the factor {factor} is not positive",
                legal="factors that are positive",
                spots=[node],
                fast="All the constant factors are required to be positive. However, some constant "
                "input factor is zero or negative.",
                detail="All the constant factors are required to be positive. However, the factor "
                f"at position {position} is {factor}",
            )
    product: PrimExpr = make_const(1, dtype)
    for factor in given:
        if factor is not None:
            product = multiply(product, factor)
    open_positions = [i for i, factor in enumerate(given) if factor is None]
    if len(open_positions) > 1:
        raise Illegal(
            f"{len(open_positions)} factors are None",
            legal="at most one factor as None",
            spots=[node],
            fast="only one factor can be specified as -1 or none",
            detail="Only one factor can be specified as -1 or none",
        )
    if open_positions:
        inferred = analyzer.simplify(floordiv(node.extent, product))
        if not analyzer.can_prove_equal(multiply(inferred, product), node.extent):
            inferred = analyzer.simplify(ceildiv(node.extent, product))
        return [inferred if factor is None else factor for factor in given]
    if not analyzer.can_prove(product >= node.extent) or _is_unknown_here(product):
        shown = [int(f) if isinstance(f, IntImm) else str(f) for f in given]
        raise Illegal(
            f"factors {shown} do not cover the loop {node.loop_var.name!r}: extent {node.extent}, "
            f"the product of the factors is {analyzer.simplify(product)}",
            legal="leave one factor as None, or factors whose product is at least the extent "
            "(those of T.vscale() under a target that has scalable vectors)",
            spots=[node],
            fast="The product of factors is not larger than or equal to the extent of loop",
            detail="The product of factors is not larger than or equal to the extent of loop {0}",
        )
    return [factor for factor in given if factor is not None]


def _is_unknown_here(extent: PrimExpr) -> bool:
    """The extent depends on a vector length that the current target does not have."""
    return uses_vscale(extent) and (Target.current() is None or vscale_values() is None)
