"""Quotients and remainders that round down, in terms of those that round towards zero.

    x // 8              ->    x >> 3
    x // 3              ->    x / 3 + (x rem 3 >> 31)           a remainder below zero adds -1
    x // 3, x >= -20    ->    (x + 21) / 3 - 7                  no operand is negative then
    x // y              ->    let q = x / y, r = x rem y: q, or q - 1 where r and y differ in sign

What is right shorter is taken: the first that holds of the operands' bounds.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.op import arith as ops


def lower_floor_division(
    op: e.FloorDiv | e.FloorMod, a: PrimExpr, b: PrimExpr, analyzer: Analyzer
) -> PrimExpr:
    """`op` on the operands `a`, `b`, of which one may be below zero."""
    quotient = isinstance(op, e.FloorDiv)
    if (bits := power_of_two(b)) is not None:
        by = ops.const(bits if quotient else (1 << bits) - 1, op.dtype)
        return ops.shift_right(a, by) if quotient else ops.bitwise_and(a, by)
    bound = analyzer.const_int_bound(b) if b.dtype.is_scalar else None
    lanes_bound = analyzer.const_int_bound(b.value) if isinstance(b, e.Broadcast) else bound
    if lanes_bound is not None and lanes_bound.min_value >= 0:
        return _by_positive(a, b, quotient, analyzer)
    return _by_any(a, b, quotient)


def power_of_two(divisor: PrimExpr) -> int | None:
    """The exponent, where the divisor is a literal power of two."""
    if isinstance(divisor, e.IntImm) and divisor.value > 0:
        bits = divisor.value.bit_length() - 1
        if divisor.value == 1 << bits:
            return bits
    return None


def _by_positive(a: PrimExpr, b: PrimExpr, quotient: bool, analyzer: Analyzer) -> PrimExpr:
    shifted = _shifted(a, b, analyzer)
    if shifted is not None:
        raised, steps = shifted
        return ops.subtract(e.Div(raised, b), steps) if quotient else e.Mod(raised, b)
    rest = e.Mod(a, b)
    if a.dtype.is_scalar and a.dtype.bits in (32, 64):
        sign = ops.shift_right(rest, ops.const(a.dtype.bits - 1, a.dtype))
        if quotient:
            return ops.add(e.Div(a, b), sign)
        return ops.add(rest, ops.bitwise_and(b, sign))
    fits = e.GE(rest, ops.const(0, a.dtype))
    if quotient:
        return e.Select(fits, e.Div(a, b), e.Sub(e.Div(a, b), ops.const(1, a.dtype)))
    return e.Select(fits, rest, e.Add(rest, b))


def _shifted(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> tuple[PrimExpr, PrimExpr] | None:
    """`a` and a multiple of `b` that make no less than 0, and that multiple; None if too large."""
    if not a.dtype.is_scalar:
        return None
    least, most = analyzer.const_int_bound(a), analyzer.const_int_bound(b)
    limit = 1 << (a.dtype.bits - 1)
    if least.min_value <= -limit:
        return None
    # the multiple is below -least + b
    if least.max_value - least.min_value + most.max_value >= limit:
        return None
    low = -least.min_value
    if isinstance(b, e.IntImm):
        steps = -(-low // b.value)
        return ops.add(a, ops.const(steps * b.value, a.dtype)), ops.const(steps, a.dtype)
    one = ops.const(1, a.dtype)
    count = e.Add(e.Div(ops.const(low - 1, a.dtype), b), one)
    missing = e.Sub(e.Sub(b, one), ops.const(-low, a.dtype))
    return e.Add(a, e.Mul(b, count)), e.Div(missing, b)


def _by_any(a: PrimExpr, b: PrimExpr, quotient: bool) -> PrimExpr:
    zero, one = ops.const(0, a.dtype), ops.const(1, a.dtype)
    rest = e.Var("rmod", a.dtype)
    if isinstance(b, e.IntImm):  # less than zero, as it is here
        agree: PrimExpr = e.LE(rest, zero)
    else:
        agree = e.Or(
            e.And(e.GE(b, zero), e.GE(rest, zero)), e.And(e.LT(b, zero), e.LE(rest, zero))
        )
    if not quotient:
        return e.Let(rest, e.Mod(a, b), e.Select(agree, rest, e.Add(rest, b)))
    whole = e.Var("rdiv", a.dtype)
    chosen = e.Select(agree, whole, e.Sub(whole, one))
    return e.Let(rest, e.Mod(a, b), e.Let(whole, e.Div(a, b), chosen))
