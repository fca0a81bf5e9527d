"""Quotients and remainders of ramps by a literal that is the same in all lanes.

    ramp(x * 8 + 1, 1, 4) // 8   ->   broadcast(x, 4)
    ramp(x * 8 + 1, 1, 4) % 8    ->   ramp(1, 1, 4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

if TYPE_CHECKING:
    from .rewrite_simplify import RewriteSimplifier


def divided_ramp(
    s: RewriteSimplifier, kind: type, a: PrimExpr, b: PrimExpr
) -> PrimExpr | None:
    """The simplified division of a ramp; None where its lanes have no common form."""
    if not isinstance(b, e.Broadcast) or type(b.value) is not e.IntImm:
        return None
    divisor: int = b.value.value
    if divisor == 0:
        raise CheckError(f"Divide by zero: {kind(a, b)}; legal: a divisor other than zero")
    if not isinstance(a, e.Ramp) or type(a.stride) is not e.IntImm or divisor < 0:
        return None
    floor = kind is e.FloorDiv or kind is e.FloorMod
    if not floor and not (_exact(s, a, divisor) or _never_negative(s, a)):
        return None
    return _divided(s, a, divisor, floor, kind is e.FloorDiv or kind is e.Div)


def _exact(s: RewriteSimplifier, ramp: e.Ramp, divisor: int) -> bool:
    """No lane leaves a remainder, so that rounding plays no part."""
    coeff, remainder = s.analyzer.modular.of(ramp.base)
    step: int = ramp.stride.value  # type: ignore[attr-defined]
    return coeff % divisor == 0 and remainder % divisor == 0 and step % divisor == 0


def _never_negative(s: RewriteSimplifier, ramp: e.Ramp) -> bool:
    """All lanes are at least zero, so truncation is rounding down."""
    return s.analyzer.bounds.of(ramp)[0] >= 0


def _divided(
    s: RewriteSimplifier, ramp: e.Ramp, divisor: int, floor: bool, quotient: bool
) -> PrimExpr | None:
    base, lanes = ramp.base, ramp.lanes
    step: int = ramp.stride.value  # type: ignore[attr-defined]
    by = e.IntImm(base.dtype, divisor)
    kinds = (e.FloorDiv, e.FloorMod) if floor else (e.Div, e.Mod)
    if step % divisor == 0:
        if not quotient:
            return e.Broadcast(s.make(kinds[1], base, by), lanes)
        return s.make_ramp(s.make(kinds[0], base, by), e.IntImm(base.dtype, step // divisor), lanes)
    coeff, remainder = s.analyzer.modular.of(base)
    count = lanes.value if type(lanes) is e.IntImm else None
    if coeff % divisor == 0:
        start = remainder % divisor
        if count is not None and start // divisor == (start + (count - 1) * step) // divisor:
            if quotient:
                return e.Broadcast(s.make(kinds[0], base, by), lanes)
            return s.make_ramp(e.IntImm(base.dtype, start), ramp.stride, lanes)
        known = type(base) is e.IntImm and base.value == start
        if quotient or known or (not floor and step < 0):
            return None
        shorter = s.make_ramp(e.IntImm(base.dtype, start), ramp.stride, lanes)
        node: PrimExpr = kinds[1](shorter, e.Broadcast(by, lanes))
        return node
    # all lanes lie within one step of the base, and the divisor is a whole number of steps
    fits = coeff > 0 and divisor % coeff == 0 and count is not None
    if not fits or not 0 <= remainder + (count - 1) * step < coeff:  # type: ignore[operator]
        return None
    if quotient:
        return e.Broadcast(s.make(kinds[0], base, by), lanes)
    return s.make_ramp(s.make(kinds[1], base, by), ramp.stride, lanes)

