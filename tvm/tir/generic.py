"""Arithmetic on expressions as functions, matched to one type as the operators do."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.span import Span

from .op import arith
from .op.arith import Operand


def add(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs + rhs."""
    return arith.add(lhs, rhs, span)


def subtract(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs - rhs."""
    return arith.subtract(lhs, rhs, span)


def multiply(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs * rhs."""
    return arith.multiply(lhs, rhs, span)


def divide(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs / rhs, as `tvm.tir.div` divides."""
    return arith.div(lhs, rhs, span)


def floordiv(lhs: Operand, rhs: Operand, span: Span | None = None) -> PrimExpr:
    """lhs / rhs, rounded down."""
    return arith.floordiv(lhs, rhs, span)


def cast(src: Operand, dtype: str, span: Span | None = None) -> PrimExpr:
    """The value in another type."""
    return arith.cast(src, dtype, span)
