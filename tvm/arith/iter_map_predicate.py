"""What a predicate says about single variables, as narrower ranges of theirs."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir.functor import uses_any
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .constraint import facts_in
from .iter_map_expr import IterMapFailure, as_text


def narrowed(
    input_iters: Mapping[e.Var, Range], predicate: PrimExpr, analyzer: Analyzer
) -> tuple[dict[e.Var, Range], PrimExpr]:
    """The ranges under the comparisons of one variable with a bound, and the other comparisons.

    x in [0, 8), x < 6 and x + y < 9   ->   x in [0, 6) and x + y < 9
    """
    for dom in input_iters.values():
        if uses_any(dom.extent, input_iters) or uses_any(dom.min, input_iters):
            raise IterMapFailure("the range of a loop variable depends on another one")
    iters = dict(input_iters)
    rest: list[PrimExpr] = []
    for condition in facts_in(predicate):
        if _is_of_reassembled(condition, iters, analyzer):
            continue
        limit = _limit(condition, iters)
        if limit is None:
            rest.append(condition)
            continue
        var, low, high = limit
        dom = iters[var]
        start, end = dom.min, analyzer.simplify(op.add(dom.min, dom.extent))
        if low is not None:
            start = analyzer.simplify(op.max_of(start, op.cast(low, start.dtype)))
        if high is not None:
            end = analyzer.simplify(op.min_of(end, op.cast(high, end.dtype)))
        extent = analyzer.simplify(op.subtract(end, start))
        if isinstance(extent, e.IntImm) and extent.value <= 0:
            raise IterMapFailure(f"the predicate {as_text(condition)} never holds")
        iters[var] = Range.from_min_extent(start, extent)
    return iters, op.all(*rest) if rest else e.IntImm(e.BOOL, 1)


def _is_of_reassembled(
    condition: PrimExpr, iters: Mapping[e.Var, Range], analyzer: Analyzer
) -> bool:
    """True for a limit of one variable that is written as its digits: it narrows no range.

    i * 16 + j < n of loops that were fused is f // 16 * 16 + f % 16 < n, and the index is f.
    """
    if not isinstance(condition, (e.LT, e.LE, e.GT, e.GE)):
        return False
    for side in (condition.a, condition.b):
        if isinstance(side, e.Add) and analyzer.simplify(side) in iters:
            return True
    return False


def _limit(
    condition: PrimExpr, iters: Mapping[e.Var, Range]
) -> tuple[e.Var, PrimExpr | None, PrimExpr | None] | None:
    """(variable, least value or None, end or None) of a comparison with what no variable is in."""
    if not isinstance(condition, (e.LT, e.LE, e.GT, e.GE)):
        return None
    a, b = condition.a, condition.b
    less, closed = isinstance(condition, (e.LT, e.LE)), isinstance(condition, (e.LE, e.GE))
    if not (isinstance(a, e.Var) and a in iters):
        a, b, less = b, a, not less
    if not (isinstance(a, e.Var) and a in iters) or uses_any(b, iters):
        return None
    if less:
        return a, None, op.add(b, 1) if closed else b
    return a, b if closed else op.add(b, 1), None
