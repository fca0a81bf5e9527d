"""Substitution that folds constants on its way, as unrolling leaves many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.compiled import mypyc_attr
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


@mypyc_attr(allow_interpreted_subclasses=True)
class RenamingSubstituter(Substituter):
    """Replaces variables, and renames what is bound in the program.

    With `rename`, each definition in the rewritten program gets a variable of its own, so that the
    result may stand beside another copy of the same program.
    """

    def __init__(self, values: Mapping[e.Var, PrimExpr], rename: bool = False) -> None:
        self.values: dict[e.Var, PrimExpr] = dict(values)
        super().__init__(self.values)
        self.rename = rename

    def visit_var_def(self, var: e.Var) -> e.Var:
        if not self.rename:
            return super().visit_var_def(var)
        new = var.copy_with_name(var.name)
        self.values[var] = new
        return new


@mypyc_attr(allow_interpreted_subclasses=True)
class FoldingSubstituter(RenamingSubstituter):
    """Folds what becomes constant, too."""

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        kind = type(op)
        if isinstance(b, e.IntImm):
            if isinstance(a, e.IntImm):
                return _fold(op, kind, a, b)
            if kind is e.Add:
                return _plus(a, b, op)
            return FOLDS[kind](a, b, op.span)
        if isinstance(a, e.IntImm):
            return FOLDS[kind](a, b, op.span)
        return kind(a, b, op.span)

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
        if e.is_call_of(op, "tir.if_then_else"):
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


def _fold(op: e.BinaryOpExpr, kind: type[e.BinaryOpExpr], a: e.IntImm, b: e.IntImm) -> PrimExpr:
    """The literal result; sums and products of small index values the short way."""
    if op.dtype is e.INT32 or op.dtype is e.INT64:
        value = a.value + b.value if kind is e.Add else a.value * b.value
        if (kind is e.Add or kind is e.Mul) and -0x80000000 <= value <= 0x7FFFFFFF:
            return e.IntImm(op.dtype, value, op.span)
    return FOLDS[kind](a, b, op.span)


def _plus(a: PrimExpr, b: e.IntImm, op: e.BinaryOpExpr) -> PrimExpr:
    """a + b, where (x + 3) + 4 is x + 7."""
    if b.value == 0:
        return a
    if isinstance(a, e.Add) and isinstance(a.b, e.IntImm):
        value = a.b.value + b.value
        if op.dtype.bits >= 32 and 0 <= value <= 0x7FFFFFFF:
            return _plus(a.a, e.IntImm(b.dtype, value), op)
    return e.Add(a, b, op.span)
