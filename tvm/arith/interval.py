"""The arithmetic of intervals of whole numbers, which may be open on either side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.support.dtype import DataType
from tvm.tir.scalar import int_range

POS_INF: Final = (1 << 63) - 1
NEG_INF: Final = -POS_INF
Bound = tuple[int, int]
EVERYTHING: Final[Bound] = (NEG_INF, POS_INF)
BOOLEAN: Final[Bound] = (0, 1)


def clamp(value: int) -> int:
    """`value`, or the infinity that it goes beyond."""
    return NEG_INF if value < NEG_INF else POS_INF if value > POS_INF else value


def type_bound(dtype: DataType) -> Bound:
    """The range of an integer type; no bound for anything else and for 64 bits."""
    if not (dtype.is_integer or dtype.is_bool):
        return EVERYTHING
    low, high = int_range(dtype.element_of())
    return clamp(low), clamp(high)


def add_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a sum."""
    low = NEG_INF if a[0] == NEG_INF or b[0] == NEG_INF else clamp(a[0] + b[0])
    high = POS_INF if a[1] == POS_INF or b[1] == POS_INF else clamp(a[1] + b[1])
    return low, high


def negate_bound(a: Bound) -> Bound:
    """The bounds of the negative."""
    return -a[1], -a[0]


def _mul(x: int, y: int) -> int:
    if x == 0 or y == 0:
        return 0
    return clamp(x * y)  # an infinity times anything but zero is far beyond the clamp or at it


def mul_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a product."""
    if b[0] == b[1] and 0 < b[0] < POS_INF:
        return _mul(a[0], b[0]), _mul(a[1], b[0])
    corners = (_mul(a[0], b[0]), _mul(a[0], b[1]), _mul(a[1], b[0]), _mul(a[1], b[1]))
    return min(corners), max(corners)


def _quotient(x: int, y: int, div: Callable[[int, int], int]) -> int:
    if y in (POS_INF, NEG_INF):
        # the divisor may be as large as one likes; floor division keeps -1 for mixed signs
        return 0 if x == 0 or (x > 0) == (y > 0) else div(-1, 2)
    if x in (POS_INF, NEG_INF):
        return x if y > 0 else -x
    return clamp(div(x, y))


def div_bounds(a: Bound, b: Bound, div: Callable[[int, int], int]) -> Bound:
    """The bounds of a quotient rounded by `div`; divisors of zero are left out."""
    ends = []
    if b[1] >= 1:
        ends += [max(1, b[0]), b[1]]
    if b[0] <= -1:
        ends += [b[0], min(-1, b[1])]
    if not ends:
        return EVERYTHING
    corners = [_quotient(x, y, div) for x in a for y in ends]
    return min(corners), max(corners)


def floor_mod_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a floor remainder, which has the sign of the divisor."""
    if b[0] == b[1] and b[0] != 0 and a[0] != NEG_INF and a[1] != POS_INF:
        divisor = b[0]
        if a[0] // divisor == a[1] // divisor:
            return a[0] % divisor, a[1] % divisor
    low, high = 0, 0
    if b[1] > 0:
        if a[0] >= 0 and a[1] < max(b[0], 1):
            return a
        high = POS_INF if b[1] == POS_INF else b[1] - 1
        if a[0] >= 0:
            high = min(high, a[1])
    if b[0] < 0:
        low = NEG_INF if b[0] == NEG_INF else b[0] + 1
        if b[1] <= 0 and a[1] <= 0:
            low = max(low, a[0])
    return low, high


def trunc_mod_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a truncating remainder, which has the sign of the dividend."""
    size = max(abs(b[0]), abs(b[1]))
    reach = POS_INF if size == POS_INF else max(size - 1, 0)
    if b[0] > 0 and a[0] >= 0 and a[1] < b[0]:
        return a
    return (max(a[0], -reach) if a[0] < 0 else 0), (min(a[1], reach) if a[1] > 0 else 0)


def union_bounds(a: Bound, b: Bound) -> Bound:
    """The smallest interval around both."""
    return min(a[0], b[0]), max(a[1], b[1])


def intersect_bounds(a: Bound, b: Bound) -> Bound:
    """The common part; the first if there is none (then the code is never reached)."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else a


def highest_at_corners(p: int, q: int, r: int, x: Bound, y: Bound) -> int:
    """The most that p * x + q * y + r * x * y can be.

    The value is linear in x for each y, and the other way round, so it is extreme at a corner of
    the box that x and y lie in. Where the box is open, the slopes say which end counts.
    """
    best = NEG_INF
    for end in _ends(p, r, x, y):
        for other in _ends(q, r, y, x):
            if end is None or other is None:
                return POS_INF
            best = max(best, p * end + q * other + r * end * other)
    return best


def _ends(p: int, r: int, x: Bound, y: Bound) -> list[int | None]:
    """The ends of x that may count; None for one that is not bounded.

    The slope in x is p + r * y: where it has one sign for all y, one end of x is enough.
    """
    slope = add_bounds((p, p), mul_bounds(y, (r, r)))
    low = None if x[0] == NEG_INF else x[0]
    high = None if x[1] == POS_INF else x[1]
    if slope[1] <= 0:
        return [low]
    return [high] if slope[0] >= 0 else [low, high]
