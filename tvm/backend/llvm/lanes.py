"""The lanes of an index: a base that is known at run time, and constant offsets from it.

    Broadcast(x * 4, 8) + Ramp(0, 1, 8) // Broadcast(2, 8)   ->   x * 4 and [0, 0, 1, 1, 2, 2, 3, 3]
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.functor import walk

Lanes = tuple[PrimExpr, list[int]]


_NEAR: Final = 1 << 30


def _truncated(a: int, b: int) -> int:
    return -(-a // b) if (a < 0) != (b < 0) else a // b


_CONSTANT: Final[dict[type, Callable[[int, int], int]]] = {
    e.FloorDiv: operator.floordiv,
    e.FloorMod: operator.mod,
    e.Div: _truncated,
    e.Mod: lambda a, b: a - b * _truncated(a, b),
    e.Min: min,
    e.Max: max,
}
_CALLED: Final[dict[str, Callable[[int, int], int]]] = {
    "tir.shift_right": operator.rshift,
    "tir.shift_left": operator.lshift,
    "tir.bitwise_and": operator.and_,
}


def lanes_of(index: PrimExpr) -> Lanes | None:
    """(base, what each lane adds); None if a lane depends on more than the base."""
    if isinstance(index, e.Broadcast):
        return index.value, [0] * index.dtype.lanes
    if isinstance(index, e.Ramp):
        if not isinstance(index.stride, e.IntImm) or index.dtype.is_scalable:
            return None
        return index.base, [index.stride.value * lane for lane in range(index.dtype.lanes)]
    if isinstance(index, (e.Add, e.Sub)):
        a, b = lanes_of(index.a), lanes_of(index.b)
        if a is None or b is None:
            return None
        sign = 1 if isinstance(index, e.Add) else -1
        return type(index)(a[0], b[0]), [x + sign * y for x, y in zip(a[1], b[1])]
    if isinstance(index, e.Mul):
        return _scaled(index.a, index.b) or _scaled(index.b, index.a)
    found = _constants(index)
    return None if found is None else (e.IntImm(index.dtype.with_lanes(1), 0), found)


def lane_gap(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr, list[int], bool] | None:
    """(base of `a`, base of `b`, how much farther apart each lane is, whether lanes of `a` differ).

    None for other vectors than indices, and where all lanes are equal. A varying index is taken
    to wrap around nowhere; the other one may be anything.
    """
    if a.dtype.lanes == 1 or a.dtype.is_scalable:
        return None
    left, right = lanes_of(a), lanes_of(b)
    if left is None or right is None:
        return None
    lanes = [x - y for x, y in zip(left[1], right[1])]
    a_varies = any(left[1])
    if not any(lanes) or max(map(abs, lanes)) >= _NEAR:
        return None
    varying = left[0] if a_varies else right[0]
    if any(isinstance(node, (e.BufferLoad, e.Call)) for node in walk(varying)):
        return None
    return left[0], right[0], lanes, a_varies


def at_elements(mask: PrimExpr, lanes: list[int], first: int, count: int) -> PrimExpr | None:
    """A mask of lanes that lie so far apart, as one of `count` elements side by side.

        lanes 0, 2, 4, ...:   T.Ramp(x * 2, 2, 8) <= T.Broadcast(n, 8)
        ->                    T.Ramp(x * 2 + first, 1, count) <= T.Broadcast(n, count)

    It says the same of elements at lanes, and something of those between. None where what is
    compared does not move with the elements.
    """
    if isinstance(mask, e.Broadcast):
        return e.Broadcast(mask.value, count)
    if isinstance(mask, e.And):
        a, b = (at_elements(part, lanes, first, count) for part in (mask.a, mask.b))
        return None if a is None or b is None else e.And(a, b)
    if not isinstance(mask, e.CmpExpr):
        return None
    a, b = (_side_at_elements(side, lanes, first, count) for side in (mask.a, mask.b))
    return None if a is None or b is None else type(mask)(a, b)


def _side_at_elements(
    side: PrimExpr, lanes: list[int], first: int, count: int
) -> PrimExpr | None:
    found = lanes_of(side)
    if found is None or len(found[1]) != len(lanes) or len(lanes) < 2:
        return None
    base, offsets = found
    moved = [offset - offsets[0] for offset in offsets]
    scale, remainder = divmod(moved[1], lanes[1] - lanes[0]) if lanes[1] != lanes[0] else (0, 1)
    if remainder or moved != [scale * (lane - lanes[0]) for lane in lanes]:
        return None
    start = base + (offsets[0] + scale * (first - lanes[0]))
    return e.Broadcast(start, count) if scale == 0 else e.Ramp(start, scale, count)


def _scaled(index: PrimExpr, factor: PrimExpr) -> Lanes | None:
    if not (isinstance(factor, e.Broadcast) and isinstance(factor.value, e.IntImm)):
        return None
    found, by = lanes_of(index), factor.value
    if found is None:
        return None
    return e.Mul(found[0], by), [lane * by.value for lane in found[1]]


def _constants(index: PrimExpr) -> list[int] | None:
    """The lanes of a quotient, remainder and the like of constants."""
    rule: Callable[[int, int], int] | None = None
    parts: tuple[PrimExpr, ...] = ()
    if isinstance(index, e.BinaryOpExpr):
        rule, parts = _CONSTANT.get(type(index)), (index.a, index.b)
    elif isinstance(index, e.Call) and len(index.args) == 2:
        rule = _CALLED.get(e.op_name(index))
        parts = tuple(index.args)
    if rule is None:
        return None
    values: list[list[int]] = []
    for part in parts:
        found = lanes_of(part)
        if found is None or not isinstance(found[0], e.IntImm):
            return None
        values.append([found[0].value + lane for lane in found[1]])
    if rule not in (min, max, operator.and_) and any(b <= 0 for b in values[1]):
        return None
    return [rule(a, b) for a, b in zip(*values)]
