"""Whether two stores of a block's threads meet: some thread's element is another thread's too.

The threads of a block are few, so their elements are counted out, all at once in numpy:

    S[tx] = 0.0; S[tx + 1] = A[tx]      thread 1 clears what thread 0 stores
    S[tx * 2] = 0.0; S[tx * 2 + 1] = 1.0      never meet
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

_MOST: Final = 1 << 12  # threads of a block that are counted out


def stores_meet(
    one: Sequence[PrimExpr],
    other: Sequence[PrimExpr],
    threads: Mapping[e.Var, int],
    values: Mapping[e.Var, int],
) -> bool:
    """Whether different threads store to one element by these indices (vectors: all lanes).

    `threads` gives the threads' variables with their extents, `values` one value each for the
    other variables. An index that is no arithmetic on those may be anything; two such stores are
    taken to be parts of one scatter, which meet no more than the threads of either do.
    """
    if prod(threads.values()) > _MOST:
        return True
    first, second = _elements(one, threads, values), _elements(other, threads, values)
    if first is None or second is None:
        return first is not second
    keys, owners = first
    found: dict[tuple[int, ...], int] = {}
    several = -1
    for key, owner in zip(map(tuple, keys.tolist()), owners.tolist()):
        found[key] = owner if found.get(key, owner) == owner else several
    for key, owner in zip(map(tuple, second[0].tolist()), second[1].tolist()):
        if found.get(key, owner) != owner:
            return True
    return False


def _elements(
    indices: Sequence[PrimExpr], threads: Mapping[e.Var, int], values: Mapping[e.Var, int]
) -> tuple[Any, Any] | None:
    """The elements (one a row), and the threads that they belong to."""
    count = prod(threads.values())
    known: dict[e.Var, Any] = dict(values)
    places = np.unravel_index(np.arange(count), [*threads.values()] or [1])
    for var, place in zip(threads, places):
        known[var] = place[:, None]
    found = [_value(index, known) for index in indices]
    if not found or any(one is None for one in found):
        return None
    lanes = max(np.shape(one)[-1] if np.ndim(one) else 1 for one in found)
    rows = np.stack([np.broadcast_to(one, (count, lanes)).ravel() for one in found], axis=1)
    return rows, np.repeat(np.arange(count), lanes)


def _value(expr: PrimExpr, known: Mapping[e.Var, Any]) -> Any:
    """The value for each thread (rows) and lane (columns); None where it cannot be told."""
    if isinstance(expr, e.Var):
        return known.get(expr)
    if isinstance(expr, e.IntImm):
        return expr.value
    if isinstance(expr, e.Broadcast):
        return _value(expr.value, known)
    if isinstance(expr, e.Cast) and expr.dtype.is_integer and expr.value.dtype.is_integer:
        return _value(expr.value, known)
    rule = _NUMPY.get(type(expr))
    parts: tuple[PrimExpr, ...] = ()
    if isinstance(expr, e.BinaryOpExpr):
        parts = (expr.a, expr.b)
    elif isinstance(expr, e.Call):
        rule, parts = _CALLS.get(e.op_name(expr) or ""), tuple(expr.args)
    elif isinstance(expr, e.Ramp):
        if not isinstance(expr.lanes, e.IntImm):
            return None
        steps = np.arange(expr.lanes.value)[None, :]
        rule, parts = (lambda base, stride: base + stride * steps), (expr.base, expr.stride)
    if rule is None:
        return None
    a, b = (_value(part, known) for part in parts)
    return None if a is None or b is None else rule(a, b)


_NUMPY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    e.Add: lambda a, b: a + b,
    e.Sub: lambda a, b: a - b,
    e.Mul: lambda a, b: a * b,
    e.FloorDiv: np.floor_divide,
    e.FloorMod: np.mod,
    e.Div: lambda a, b: (np.sign(a) * np.sign(b)) * (np.abs(a) // np.abs(b)),
    e.Mod: np.fmod,
    e.Min: np.minimum,
    e.Max: np.maximum,
}
_CALLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "tir.bitwise_and": np.bitwise_and,
    "tir.bitwise_or": np.bitwise_or,
    "tir.bitwise_xor": np.bitwise_xor,
    "tir.shift_left": np.left_shift,
    "tir.shift_right": np.right_shift,
}
