"""Sizes that are computed while a program runs, and whether their integers hold them."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

from . import arith as ops
from .forms import terms_of

_REAL = {e.Mul: ops.multiply, e.Min: ops.min_of, e.Max: ops.max_of, e.Sub: ops.subtract}


def allocated_bytes(unit: int, extents: Sequence[PrimExpr]) -> PrimExpr:
    """`unit` times all extents, as int64; -1, which no memory has, where something wraps around.

    Floating-point numbers do not wrap: their product is compared with half of what the integers
    hold, so that roundings are of no account.
    """
    size: PrimExpr = ops.const(unit, "int64")
    real: PrimExpr = ops.const(float(unit), "float64")
    fits: PrimExpr = ops.const(True, "bool")
    for extent in extents:
        size = ops.multiply(size, ops.cast(extent, "int64"))
        length = _real_sum(extent)
        real = ops.multiply(real, length)
        if not isinstance(extent, (e.IntImm, e.Var)) and extent.dtype.bits < 64:
            fits = ops.logical_and(fits, _below(length, extent.dtype.bits))
    if isinstance(size, (e.IntImm, e.Var)) and isinstance(real, e.FloatImm):
        return size if real.value < 2.0**62 else ops.const(-1, "int64")
    fits = ops.logical_and(fits, _below(real, 64))
    return e.Select(fits, size, ops.const(-1, "int64"))


def _below(real: PrimExpr, bits: int) -> PrimExpr:
    return ops.less(real, ops.const(2.0 ** (bits - 2), "float64"))


def _real_sum(size: PrimExpr) -> PrimExpr:
    """Sums are as long as the program: their terms are taken one by one."""
    total: PrimExpr = ops.const(0.0, "float64")
    for term in terms_of(size, e.Add):
        total = ops.add(total, _real(term))
    return total


def _real(expr: PrimExpr) -> PrimExpr:
    """The value of a size in floating-point numbers."""
    if isinstance(expr, e.IntImm):
        return ops.const(float(expr.value), "float64")
    if isinstance(expr, e.Add):
        return ops.add(_real(expr.a), _real(expr.b))
    if isinstance(expr, (e.Mul, e.Min, e.Max, e.Sub)):
        return _REAL[type(expr)](_real(expr.a), _real(expr.b))
    if isinstance(expr, e.FloorDiv) and isinstance(expr.b, e.IntImm):
        return ops.multiply(_real(expr.a), ops.const(1.0 / expr.b.value, "float64"))
    if isinstance(expr, e.Cast) and expr.dtype.is_int and expr.value.dtype.is_int:
        return _real(expr.value)
    return ops.cast(expr, "float64")
