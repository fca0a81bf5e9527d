"""A condition free of some variables that is true only where the given one always is."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir.functor import uses_any
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .interval_set import IntervalSet, eval_set


def narrow_predicate_expression(
    expr: PrimExpr, free_parameters: Mapping[e.Var, Range]
) -> PrimExpr:
    """A condition without the free parameters that implies `expr` for all their values.

    Each comparison is taken at the end of the range that is hardest to satisfy:

        i < n  over i in [0, 16)   ->   15 < n
    """
    return _Narrower(free_parameters).visit(e.as_expr(expr))


class _Narrower:
    def __init__(self, free_parameters: Mapping[e.Var, Range]) -> None:
        self._free = dict(free_parameters)
        self._analyzer = Analyzer()

    def visit(self, expr: PrimExpr) -> PrimExpr:
        """The narrower condition."""
        if not uses_any(expr, self._free):
            return expr
        if isinstance(expr, (e.And, e.Or)):
            a, b = self.visit(expr.a), self.visit(expr.b)
            return (op.logical_and if isinstance(expr, e.And) else op.logical_or)(a, b)
        if isinstance(expr, e.Not):
            return self.visit(self._analyzer.rewriter.make_not(expr.a))
        if isinstance(expr, (e.GT, e.GE)):
            low, high = self._ends(expr.a), self._ends(expr.b)
            join = op.greater if isinstance(expr, e.GT) else op.greater_equal
            return self._joined(join, low.min_value, high.max_value, low, high)
        if isinstance(expr, (e.LT, e.LE)):
            low, high = self._ends(expr.a), self._ends(expr.b)
            join = op.less if isinstance(expr, e.LT) else op.less_equal
            return self._joined(join, low.max_value, high.min_value, low, high)
        if isinstance(expr, e.EQ):
            at_most, at_least = self.visit(e.LE(expr.a, expr.b)), self.visit(e.GE(expr.a, expr.b))
            return op.logical_and(at_most, at_least)
        if isinstance(expr, e.NE):
            below, above = self.visit(e.LT(expr.a, expr.b)), self.visit(e.GT(expr.a, expr.b))
            return op.logical_or(below, above)
        return e.IntImm(e.BOOL, 0)

    def _ends(self, expr: PrimExpr) -> IntervalSet:
        return eval_set(expr, self._free, self._analyzer)

    def _joined(
        self,
        join: object,
        a: PrimExpr,
        b: PrimExpr,
        low: IntervalSet,
        high: IntervalSet,
    ) -> PrimExpr:
        finite = all(
            side.has_lower_bound() and side.has_upper_bound() for side in (low, high)
        )
        if not finite:
            return e.IntImm(e.BOOL, 0)  # without an end, nothing implies the condition
        return self._analyzer.simplify(join(a, b))  # type: ignore[operator]
