"""Substitution that folds constants on its way, as unrolling leaves many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import Substituter
from tvm.tir.op import arith as ops

FOLDS: Final[dict[type, Callable[..., PrimExpr]]] = {
    e.Add: ops.add, e.Sub: ops.subtract, e.Mul: ops.multiply, e.Div: ops.truncdiv,
    e.Mod: ops.truncmod, e.FloorDiv: ops.floordiv, e.FloorMod: ops.floormod, e.Min: ops.min_of,
    e.Max: ops.max_of, e.EQ: ops.equal, e.NE: ops.not_equal, e.LT: ops.less, e.LE: ops.less_equal,
    e.GT: ops.greater, e.GE: ops.greater_equal,
}  # fmt: skip


class FoldingSubstituter(Substituter):
    """Replaces variables, folds what becomes constant, and renames what is bound in the program.

    With `rename`, each definition in the rewritten program gets a variable of its own, so that the
    result may stand beside another copy of the same program.
    """

    def __init__(self, values: Mapping[e.Var, PrimExpr], rename: bool = False) -> None:
        self.values: dict[e.Var, PrimExpr] = dict(values)
        super().__init__(self.values)
        self._rename = rename

    def visit_var_def(self, var: e.Var) -> e.Var:
        if not self._rename:
            return super().visit_var_def(var)
        new = var.copy_with_name(var.name)
        self.values[var] = new
        return new

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        if op.dtype.is_integer and _has_literal(a, b):
            return _sum_of_constants(FOLDS[type(op)](a, b, op.span))
        return type(op)(a, b, op.span)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        return FOLDS[type(op)](a, b, op.span)

    def visit_and_(self, op: e.And) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else ops.logical_and(a, b, op.span)

    def visit_or_(self, op: e.Or) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else ops.logical_or(a, b, op.span)

    def visit_not_(self, op: e.Not) -> PrimExpr:
        a = self.visit_expr(op.a)
        return op if a is op.a else ops.logical_not(a, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        return op if value is op.value else ops.cast(value, op.dtype, op.span)

    def visit_select_(self, op: e.Select) -> PrimExpr:
        condition = self.visit_expr(op.condition)
        known = ops.literal(condition)
        if known is not None and condition is not op.condition:
            return self.visit_expr(op.true_value if known else op.false_value)
        return super().visit_select_(op)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if getattr(op.op, "name", "") == "tir.if_then_else":
            condition = self.visit_expr(op.args[0])
            known = ops.literal(condition)
            if known is not None and condition.dtype.is_scalar:
                return self.visit_expr(op.args[1] if known else op.args[2])
        return super().visit_call_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        condition = self.visit_expr(op.condition)
        known = ops.literal(condition)
        if known is None:
            return super().visit_if_then_else_(op)
        if known:
            return self.visit_stmt(op.then_case)
        return s.Evaluate(0) if op.else_case is None else self.visit_stmt(op.else_case)


def _has_literal(a: PrimExpr, b: PrimExpr) -> bool:
    return isinstance(a, e.IntImm) or isinstance(b, e.IntImm)


def _sum_of_constants(expr: PrimExpr) -> PrimExpr:
    """(x + 3) + 4 is x + 7."""
    if isinstance(expr, e.Add) and isinstance(expr.b, e.IntImm):
        inner = expr.a
        if isinstance(inner, e.Add) and isinstance(inner.b, e.IntImm):
            return ops.add(inner.a, ops.add(inner.b, expr.b), expr.span)
    return expr
