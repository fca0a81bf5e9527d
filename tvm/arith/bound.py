"""What a condition says about one of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.support.compiled import mypyc_attr
from tvm.tir import expr as e
from tvm.tir.functor import expr_children
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .interval_set import EVERYTHING, NEG_INF, NOTHING, POS_INF, IntervalSet, IntSet, eval_set


@explained
def deduce_bound(
    var: e.Var,
    cond: Any,
    hint_map: Mapping[e.Var, IntSet | Range],
    relax_map: Mapping[e.Var, IntSet | Range],
) -> IntSet:
    """The values of `var` for which `cond` holds, whatever the variables of `relax_map` are.

    The variables of `hint_map` stay in the result; their sets only help to find signs.
    """
    return _Deducer(var, hint_map, relax_map).run(e.as_expr(cond))


@mypyc_attr(native_class=False)
class _Failure(Exception):
    """The variable cannot be brought to one side."""


class _Deducer:
    def __init__(
        self,
        var: e.Var,
        hint_map: Mapping[e.Var, IntSet | Range],
        relax_map: Mapping[e.Var, IntSet | Range],
    ) -> None:
        self._var = var
        self._relax = relax_map
        self._analyzer = Analyzer()
        self._hints: dict[e.Var, IntSet | Range] = {**hint_map, **relax_map}

    def run(self, cond: PrimExpr) -> IntSet:
        """The set, or nothing where none is found."""
        found = self._sides(cond)
        if found is None:
            return NOTHING
        inside, result, relation = found
        try:
            return self._solve(inside, result, relation)
        except _Failure:
            return NOTHING

    def _sides(self, cond: PrimExpr) -> tuple[PrimExpr, PrimExpr, str] | None:
        """(side with the variable, other side, relation) with the relation <=, >= or ==."""
        if not isinstance(cond, (e.LT, e.LE, e.GT, e.GE, e.EQ)):
            return None
        a, b = cond.a, cond.b
        relation = _RELATIONS[type(cond)]
        in_a, in_b = self._count(a), self._count(b)
        if in_a and in_b:  # bring all to the left
            a, b = self._analyzer.simplify(op.subtract(a, b)), op.const(0, a.dtype)
            in_a, in_b = self._count(a), 0
        if in_a + in_b != 1:
            return None
        if in_b:
            a, b = b, a
            relation = _TURNED[relation]
        if relation == "<":
            return a, op.subtract(b, 1), "<="
        if relation == ">":
            return a, op.add(b, 1), ">="
        return a, b, relation

    def _count(self, expr: PrimExpr) -> int:
        count, stack = 0, [expr]
        while stack:
            node = stack.pop()
            count += node is self._var
            stack.extend(expr_children(node))
        return count

    def _relaxed(self, result: PrimExpr, relation: str) -> PrimExpr:
        """The bound that holds whatever the relaxed variables are."""
        if not self._relax:
            return result
        interval = eval_set(result, self._relax, self._analyzer)
        if relation == "==":
            if not interval.is_single_point():
                raise _Failure
            return interval.min_value
        end = interval.min_value if relation == "<=" else interval.max_value
        if end is POS_INF or end is NEG_INF:
            raise _Failure
        return end

    def _solve(self, inside: PrimExpr, result: PrimExpr, relation: str) -> IntSet:
        result = self._relaxed(self._analyzer.simplify(result), relation)
        while inside is not self._var:
            inside, result, relation = self._step(inside, result, relation)
            result = self._relaxed(result, relation)
        result = self._analyzer.simplify(result)
        if relation == "==":
            return IntervalSet(result, result)
        if relation == "<=":
            return IntervalSet(NEG_INF, result)
        return IntervalSet(result, POS_INF)

    def _step(
        self, inside: PrimExpr, result: PrimExpr, relation: str
    ) -> tuple[PrimExpr, PrimExpr, str]:
        """Undo the outermost operation around the variable."""
        if isinstance(inside, e.Cast):
            return inside.value, op.cast(result, inside.value.dtype), relation
        if not isinstance(inside, e.BinaryOpExpr):
            raise _Failure
        left = self._count(inside.a) > 0
        part, other = (inside.a, inside.b) if left else (inside.b, inside.a)
        if isinstance(inside, e.Add):
            return part, op.subtract(result, other), relation
        if isinstance(inside, e.Sub):
            if left:
                return part, op.add(result, other), relation
            return part, op.subtract(other, result), _TURNED[relation]
        if isinstance(inside, e.Mul):
            return part, *self._by_factor(result, other, relation)
        if isinstance(inside, (e.FloorDiv, e.Div)) and left:
            return part, *self._by_divisor(inside, result, other, relation)
        raise _Failure

    def _sign(self, expr: PrimExpr) -> int:
        """1, -1, or 0 where the sign is not known or the value may be zero."""
        interval = eval_set(expr, self._hints, self._analyzer)
        prove = self._analyzer.can_prove
        if interval.has_lower_bound() and prove(op.greater(interval.min_value, 0)):
            return 1
        if interval.has_upper_bound() and prove(op.less(interval.max_value, 0)):
            return -1
        return 0

    def _by_factor(
        self, result: PrimExpr, factor: PrimExpr, relation: str
    ) -> tuple[PrimExpr, str]:
        """part * factor <= result: rounded toward the inside of the set."""
        sign = self._sign(factor)
        if sign == 0:
            raise _Failure
        if relation == "==":
            remainder = self._analyzer.simplify(op.floormod(result, factor))
            if not op.is_zero(remainder):
                raise _Failure
            return op.floordiv(result, factor), relation
        if sign < 0:
            result, factor, relation = op.negative(result), op.negative(factor), _TURNED[relation]
        if relation == "<=":
            return op.floordiv(result, factor), relation
        return op.ceildiv(result, factor), relation

    def _by_divisor(
        self, inside: e.BinaryOpExpr, result: PrimExpr, divisor: PrimExpr, relation: str
    ) -> tuple[PrimExpr, str]:
        """part // divisor <= result."""
        sign = self._sign(divisor)
        if sign == 0 or relation == "==":
            raise _Failure
        if sign < 0:  # part // -5 >= 2 is part <= -10, part // -5 <= 2 is part >= -14
            if isinstance(inside, e.Div):
                raise _Failure
            if relation == ">=":
                return op.multiply(result, divisor), "<="
            return op.add(op.multiply(op.add(result, 1), divisor), 1), ">="
        if isinstance(inside, e.Div) and not self._analyzer.can_prove(op.greater_equal(result, 0)):
            raise _Failure  # truncation is rounding down only above zero
        if relation == "<=":
            return op.subtract(op.multiply(op.add(result, 1), divisor), 1), relation
        if isinstance(inside, e.Div) and not self._analyzer.can_prove(op.greater(result, 0)):
            raise _Failure
        return op.multiply(result, divisor), relation


_RELATIONS = {e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">=", e.EQ: "=="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
__all__ = ["EVERYTHING", "deduce_bound"]
