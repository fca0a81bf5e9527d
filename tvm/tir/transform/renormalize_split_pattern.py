"""Quotients go inwards, as far as the parts of a split allow, and limits become quotients.

x % 16 // 4                 ->     x // 4 % 4
(i * 256 + j * 16 + k) // 64  ->   i * 4 + (j + k // 16) // 4
i * 8 + j < 100             ->     (i * 2 + j // 4) // 25 < 1

That is the form in which other passes look for splits.
"""

from __future__ import annotations

import math

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator
from .pass_form import tir_pass


@tir_pass("tir.RenormalizeSplitPattern")
def RenormalizeSplitPattern(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No quotient is left of a remainder or a sum that has a factor in common with the divisor."""
    return func.with_body(_Renormalizer(func).visit_stmt(func.body))


class _Renormalizer(AnalyzedMutator):
    def visit_floor_div_(self, op: e.FloorDiv) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        divisor = _positive(b)
        quotient = None if divisor is None else _quotient(a, divisor, op.span)
        if quotient is not None:
            return quotient
        return op if a is op.a and b is op.b else e.FloorDiv(a, b, op.span)

    def visit_lt_(self, op: e.LT) -> PrimExpr:
        return self._less(op.a, op.b, op) if _ordered(op) else super().visit_lt_(op)

    def visit_gt_(self, op: e.GT) -> PrimExpr:
        return self._less(op.b, op.a, op)  # of floating numbers, too

    def visit_le_(self, op: e.LE) -> PrimExpr:
        if not _ordered(op):
            return super().visit_le_(op)
        return _opposite(self._less(op.b, op.a, op), op.span)

    def visit_ge_(self, op: e.GE) -> PrimExpr:
        if not _ordered(op):
            return super().visit_ge_(op)
        return _opposite(self._less(op.a, op.b, op), op.span)

    def visit_not_(self, op: e.Not) -> PrimExpr:
        a = self.visit_expr(op.a)
        return op if a is op.a else _opposite(a, op.span)

    def _less(self, x: PrimExpr, y: PrimExpr, op: PrimExpr) -> PrimExpr:
        """`x < y`: below a positive limit a quotient by the limit is below one."""
        a, b = self.visit_expr(x), self.visit_expr(y)
        limit = _positive(b)
        if limit is not None and limit > 1:
            return e.LT(_divided(a, limit, op.span), ops.const(1, a.dtype), op.span)
        same = isinstance(op, e.LT) and a is op.a and b is op.b
        return op if same else e.LT(a, b, op.span)


def _positive(expr: PrimExpr) -> int | None:
    return expr.value if isinstance(expr, e.IntImm) and expr.value > 0 else None


def _ordered(comparison: e.CmpExpr) -> bool:
    """Whether one of `a < b` and `b <= a` holds: of floating numbers neither may."""
    return comparison.a.dtype.is_integer


def _opposite(condition: PrimExpr, span: Span | None) -> PrimExpr:
    if isinstance(condition, e.LT) and _ordered(condition):
        return e.LE(condition.b, condition.a, span)
    if isinstance(condition, e.LE) and _ordered(condition):
        return e.LT(condition.b, condition.a, span)
    return ops.logical_not(condition, span)


def _divided(a: PrimExpr, divisor: int, span: Span | None) -> PrimExpr:
    quotient = _quotient(a, divisor, span)
    return ops.floordiv(a, ops.const(divisor, a.dtype), span) if quotient is None else quotient


def _quotient(a: PrimExpr, divisor: int, span: Span | None) -> PrimExpr | None:
    """`a // divisor` by the parts of `a`, or None where they have no factor of it."""
    dtype = a.dtype
    if isinstance(a, e.FloorMod):
        modulus = _positive(a.b)
        if modulus is None or modulus % divisor:
            return None
        inner = _divided(a.a, divisor, span)
        return ops.floormod(inner, ops.const(modulus // divisor, dtype), span)
    parts = _first_product(a)
    if parts is None:
        return None
    product, rest = parts
    factor = _positive(product.b)
    common = 1 if factor is None else math.gcd(factor, divisor)
    if factor is None or common == 1:
        return None
    high = ops.multiply(product.a, ops.const(factor // common, dtype), span)
    total = ops.add(high, _divided(rest, common, span), span)
    return _divided(total, divisor // common, span) if divisor > common else total


def _first_product(a: PrimExpr) -> tuple[e.Mul, PrimExpr] | None:
    """The product that a sum of two or three parts begins with, and the sum of the others."""
    if not isinstance(a, e.Add):
        return None
    if isinstance(a.a, e.Mul):
        return a.a, a.b
    if isinstance(a.a, e.Add) and isinstance(a.a.a, e.Mul):
        return a.a.a, ops.add(a.a.b, a.b)
    return None
