"""The interval that an index runs through while some loops run; exact for sums of splits.

Bounds may hold the variables of loops that stay fixed, so they are expressions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.expr import (
    Add,
    Cast,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Select,
    Sub,
    Var,
)
from tvm.tir.functor import substitute, uses_any
from tvm.tir.op.arith import cast, floordiv, floormod, is_one, max_of, min_of

Bounds = tuple[PrimExpr, PrimExpr]


def interval_of(expr: PrimExpr, ranges: Mapping[Var, Range], analyzer: Analyzer) -> Bounds | None:
    """The least and greatest value, or None where they cannot be told."""
    if not uses_any(expr, ranges):
        return expr, expr
    terms = linear_terms(expr, ranges)
    found = (
        _interval(expr, ranges, analyzer) if terms is None else _linear(expr, terms, ranges)
    )
    if found is None:
        return None
    return analyzer.simplify(found[0]), analyzer.simplify(found[1])


def _linear(expr: PrimExpr, terms: Mapping[Var, int], ranges: Mapping[Var, Range]) -> Bounds:
    """The ends of a sum of scaled variables: each at the end where its term is least, or most."""
    low: dict[Var, PrimExpr] = {}
    steps = 0  # of loops with constant extents, the usual case
    reach: PrimExpr | None = None
    for var, scale in terms.items():
        rng = ranges[var]
        low[var] = rng.min if scale >= 0 else rng.min + rng.extent - 1
        if isinstance(rng.extent, IntImm):
            steps += (rng.extent.value - 1) * abs(scale)
        else:
            more = (rng.extent - 1) * abs(scale)
            reach = more if reach is None else reach + more
    start = substitute(expr, low)
    end = start + steps
    return start, end if reach is None else end + reach


def _interval(expr: PrimExpr, ranges: Mapping[Var, Range], analyzer: Analyzer) -> Bounds | None:
    if isinstance(expr, Var):
        rng = ranges.get(expr)
        return (expr, expr) if rng is None else (rng.min, rng.min + rng.extent - 1)
    if isinstance(expr, IntImm):
        return expr, expr
    if isinstance(expr, Cast):
        inner = _interval(expr.value, ranges, analyzer)
        return inner and (cast(inner[0], expr.dtype), cast(inner[1], expr.dtype))
    if isinstance(expr, Select):
        return _union(
            _interval(expr.true_value, ranges, analyzer),
            _interval(expr.false_value, ranges, analyzer),
        )
    if not isinstance(expr, (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)):
        mentions = uses_any(expr, ranges)
        return None if mentions else (expr, expr)
    a, b = _interval(expr.a, ranges, analyzer), _interval(expr.b, ranges, analyzer)
    if a is None or b is None:
        return None
    if isinstance(expr, Add):
        return a[0] + b[0], a[1] + b[1]
    if isinstance(expr, Sub):
        return a[0] - b[1], a[1] - b[0]
    if isinstance(expr, Min):
        return min_of(a[0], b[0]), min_of(a[1], b[1])
    if isinstance(expr, Max):
        return max_of(a[0], b[0]), max_of(a[1], b[1])
    return _scaled(expr, a, b, analyzer)


def _scaled(
    expr: Mul | FloorDiv | FloorMod, a: Bounds, b: Bounds, analyzer: Analyzer
) -> Bounds | None:
    """Products and quotients, where one operand does not move and its sign is known."""
    if isinstance(expr, Mul) and b[0] is not b[1] and a[0] is a[1]:
        a, b = b, a
    if b[0] is not b[1]:
        return None
    factor = b[0]
    if isinstance(expr, Mul):
        if analyzer.can_prove(factor >= 0):
            return a[0] * factor, a[1] * factor
        if analyzer.can_prove(factor <= 0):
            return a[1] * factor, a[0] * factor
        return None
    if not analyzer.can_prove(factor > 0):
        return None
    if isinstance(expr, FloorDiv):
        return floordiv(a[0], factor), floordiv(a[1], factor)
    if analyzer.can_prove_equal(floordiv(a[0], factor), floordiv(a[1], factor)):
        return floormod(a[0], factor), floormod(a[1], factor)
    return factor * 0, factor - 1


def _union(a: Bounds | None, b: Bounds | None) -> Bounds | None:
    if a is None or b is None:
        return None
    return min_of(a[0], b[0]), max_of(a[1], b[1])


def linear_terms(expr: PrimExpr, names: Collection[Var]) -> dict[Var, int] | None:
    """The constant coefficients of some variables in a sum; None for anything else."""
    found: dict[Var, int] = {}
    stack: list[tuple[PrimExpr, int]] = [(expr, 1)]
    while stack:
        node, scale = stack.pop()
        if isinstance(node, Var):
            if node in names:
                found[node] = found.get(node, 0) + scale
        elif isinstance(node, Add):
            stack.extend([(node.a, scale), (node.b, scale)])
        elif isinstance(node, Sub):
            stack.extend([(node.a, scale), (node.b, -scale)])
        elif isinstance(node, Mul) and isinstance(node.b, IntImm):
            stack.append((node.a, scale * node.b.value))
        elif isinstance(node, Mul) and isinstance(node.a, IntImm):
            stack.append((node.b, scale * node.a.value))
        elif uses_any(node, names):
            return None
    return found


def is_dense(expr: PrimExpr, width: PrimExpr, ranges: Mapping[Var, Range]) -> bool:
    """True if [expr, expr + width) leaves no gap while the loops run."""
    moving = {v: r for v, r in ranges.items() if not is_one(r.extent)}
    terms = linear_terms(expr, moving)
    if terms is None:
        return False
    reach: int | None = width.value if isinstance(width, IntImm) else None
    for var, scale in sorted(terms.items(), key=lambda item: abs(item[1])):
        if scale == 0:
            continue
        scale = abs(scale)  # a loop that runs backwards meets the same values
        if reach is None or scale > reach:
            return False
        extent = moving[var].extent
        # a symbolic extent can only be the outermost part of the sum
        reach = reach + scale * (extent.value - 1) if isinstance(extent, IntImm) else None
    return True
