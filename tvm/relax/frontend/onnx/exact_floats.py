"""Floats that sizes make: whole numbers, or whole numbers over a power of two.

Exporters divide sizes as floats, round them and cut them off. Sizes are below 2^24 and scales are
short, so that floats of 32 bits are exact: such a value is

    Cast(float, number)    or    Cast(float, number) * (1 / below)

and sums, roundings and limits of them are those of integers, which see through each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.op import arith as ops

_SHORT: Final = 2**10  # numerators and denominators of numbers
_FLOATS: Final = ("float32", "float64")

Fraction = tuple[PrimExpr, int]


def fraction_of(item: Any) -> Fraction | None:
    """A number and the power of two that it is divided by; None for other floats."""
    if isinstance(item, FloatImm):
        if item.value != item.value or abs(item.value) > _SHORT:
            return None
        up, below = float(item.value).as_integer_ratio()
        return (ops.const(up, "int64"), below) if below <= _SHORT else None
    if isinstance(item, tir.Cast) and str(item.dtype) in _FLOATS:
        return (item.value, 1) if str(item.value.dtype) == "int64" else None
    if isinstance(item, tir.Mul) and isinstance(item.b, FloatImm):
        size, scale = fraction_of(item.a), fraction_of(item.b)
        if size is None or scale is None or not isinstance(scale[0], IntImm):
            return None
        common = math.gcd(size[1], scale[0].value) or 1
        below = size[1] // common * scale[1]
        factor = ops.const(scale[0].value // common, "int64")
        return (ops.multiply(size[0], factor), below) if below <= _SHORT else None
    return None


def float_of(number: PrimExpr, below: int, dtype: str) -> PrimExpr:
    """The float that is a number over a power of two."""
    if isinstance(number, IntImm):
        return ops.const(number.value / below, dtype)
    whole = ops.cast(number, dtype)
    return whole if below == 1 else whole * ops.const(1 / below, dtype)


def exactly(join: Callable[[Any, Any], Any], items: Sequence[Any]) -> PrimExpr | None:
    """The sum, difference, larger or smaller one of floats, by their numbers."""
    dtype = str(items[0].dtype)
    found = [fraction_of(item) for item in items] if dtype in _FLOATS else [None]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    below = max(one[1] for one in known)
    numbers = [ops.multiply(number, ops.const(below // own, "int64")) for number, own in known]
    total = numbers[0]
    for number in numbers[1:]:
        total = join(total, number)
    return float_of(total, below, dtype)


def rounded(item: PrimExpr, *, down: bool) -> PrimExpr | None:
    """The whole number below (above) a float, as an integer; None where that is not exact."""
    found = fraction_of(item)
    if found is None:
        return None
    number, below = found
    if below == 1:
        return number
    return ops.floordiv(number if down else number + (below - 1), ops.const(below, "int64"))


def truncated(item: PrimExpr) -> PrimExpr | None:
    """A float as an integer, without what is behind the point."""
    found = fraction_of(item)
    if found is None:
        return None
    number, below = found
    if below == 1:
        return number
    if Analyzer().can_prove(number >= ops.const(0, "int64")):
        return ops.floordiv(number, ops.const(below, "int64"))
    return tir.truncdiv(number, ops.const(below, "int64"))


def limited(join: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The larger (smaller) of two numbers; one of them where that is sure."""

    def of(a: PrimExpr, b: PrimExpr) -> Any:
        both = join(a, b)
        found = Analyzer().simplify(both)
        if isinstance(found, (tir.Max, tir.Min)):
            return both
        return b if Analyzer().can_prove_equal(found, b) else a

    return of
