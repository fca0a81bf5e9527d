"""Arithmetic between scalars and vectors that keeps ramps and broadcasts visible.

`Ramp` and `Broadcast` are what makes a load contiguous or uniform, so sums, products and quotients
of them are worked out here rather than left as lane-by-lane operations.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.op import arith as ops


def spread(expr: PrimExpr, lanes: PrimExpr) -> PrimExpr:
    """A scalar in all lanes; a vector as it is."""
    return e.Broadcast(expr, lanes, expr.span) if expr.dtype.is_scalar else expr


def vector_sum(op: e.BinaryOpExpr, a: PrimExpr, b: PrimExpr, lanes: PrimExpr) -> PrimExpr:
    """a + b or a - b, where at least one is a vector."""
    fold = ops.add if isinstance(op, e.Add) else ops.subtract
    if a.dtype.element_of().is_integer:
        x, y = _as_ramp(a, lanes), _as_ramp(b, lanes)
        if x is not None and y is not None:
            base, stride = fold(x[0], y[0], op.span), fold(x[1], y[1], op.span)
            if ops.is_zero(stride):
                return e.Broadcast(base, lanes, op.span)
            return e.Ramp(base, stride, lanes, op.span)
    return type(op)(spread(a, lanes), spread(b, lanes), op.span)


def vector_product(op: e.BinaryOpExpr, a: PrimExpr, b: PrimExpr, lanes: PrimExpr) -> PrimExpr:
    """a * b, where at least one is a vector."""
    if a.dtype.element_of().is_integer:
        for one, other in ((a, b), (b, a)):
            factor = _uniform(other)
            if isinstance(one, e.Ramp) and factor is not None:
                base = ops.multiply(one.base, factor, op.span)
                return e.Ramp(base, ops.multiply(one.stride, factor), lanes, op.span)
    return e.Mul(spread(a, lanes), spread(b, lanes), op.span)


def vector_quotient(
    op: e.BinaryOpExpr, a: PrimExpr, b: PrimExpr, lanes: PrimExpr, analyzer: Analyzer
) -> PrimExpr:
    """a // b or a % b, where at least one is a vector.

    A ramp that stays within one multiple of the divisor has one quotient, and a ramp of rests:
    ramp(16 * i, 1, 8) // 32 is broadcast(i // 2).
    """
    divisor = _uniform(b)
    if isinstance(a, e.Ramp) and isinstance(divisor, e.IntImm) and isinstance(lanes, e.IntImm):
        found = _ramp_division(op, a, divisor, lanes, analyzer)
        if found is not None:
            return found
    return type(op)(spread(a, lanes), spread(b, lanes), op.span)


def _ramp_division(
    op: e.BinaryOpExpr, ramp: e.Ramp, divisor: e.IntImm, lanes: e.IntImm, analyzer: Analyzer
) -> PrimExpr | None:
    stride = ramp.stride
    if not isinstance(stride, e.IntImm) or divisor.value <= 0 or stride.value < 0:
        return None
    wants_rest = isinstance(op, e.FloorMod)
    if stride.value % divisor.value == 0:
        if wants_rest:
            return e.Broadcast(analyzer.simplify(ops.floormod(ramp.base, divisor)), lanes, op.span)
        step = ops.const(stride.value // divisor.value, stride.dtype)
        base = analyzer.simplify(ops.floordiv(ramp.base, divisor))
        return e.Ramp(base, step, lanes, op.span)
    reach = stride.value * (lanes.value - 1)  # the last lane lies this far behind the first
    if not _within_one_multiple(ramp.base, reach, divisor.value, analyzer):
        return None
    if wants_rest:
        return e.Ramp(analyzer.simplify(ops.floormod(ramp.base, divisor)), stride, lanes, op.span)
    return e.Broadcast(analyzer.simplify(ops.floordiv(ramp.base, divisor)), lanes, op.span)


def _within_one_multiple(base: PrimExpr, reach: int, divisor: int, analyzer: Analyzer) -> bool:
    if reach >= divisor:
        return False
    known = analyzer.modular_set(base)
    step = _gcd(known.coeff, divisor)
    # the remainder of base is one of residue, residue + step, ... up to the last below the divisor
    residue = known.base % step if step else known.base % divisor
    largest = divisor - step + residue if step else residue
    if largest + reach < divisor:
        return True
    remainder = ops.floormod(base, divisor)
    return bool(analyzer.can_prove(ops.less(remainder, divisor - reach)))


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def _as_ramp(expr: PrimExpr, lanes: PrimExpr) -> tuple[PrimExpr, PrimExpr] | None:
    """Base and stride of a ramp; a uniform value is a ramp of stride zero."""
    if isinstance(expr, e.Ramp):
        return expr.base, expr.stride
    base = _uniform(expr)
    return None if base is None else (base, ops.const(0, base.dtype))


def _uniform(expr: PrimExpr) -> PrimExpr | None:
    """The one value of all lanes, or None."""
    if expr.dtype.is_scalar:
        return expr
    return expr.value if isinstance(expr, e.Broadcast) else None
