"""Paddings as a number for each side."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr


def _padding(padding: Any, count: int, name: str) -> tuple[int, ...]:
    if isinstance(padding, int):
        return (padding,) * (2 * count)
    if isinstance(padding, RelaxExpr) or not hasattr(padding, "__len__"):
        raise ValueError(f"{name}: the padding is {padding!r}; legal: a number or a tuple of them")
    given = [int(p) for p in padding]
    if len(given) == 1:
        return (given[0],) * (2 * count)
    if len(given) == count:
        return (*given, *given)
    if len(given) == 2 * count:
        return tuple(given)
    raise ValueError(
        f"Size of padding can only be 1, {count} or {2 * count}, found {len(given)}: {given}"
    )


def all_sides(padding: Any, count: int) -> tuple[int, ...]:
    """The padding before and after `count` axes, of options that may name fewer numbers.

    Text and saved graphs hold them as they were written, and the defaults hold one an axis.
    """
    return _padding(padding, count, "padding")


def get_pad_tuple1d(padding: Any) -> tuple[int, ...]:
    """The padding of the left and the right."""
    return _padding(padding, 1, "get_pad_tuple1d")


def get_pad_tuple2d(padding: Any) -> tuple[int, ...]:
    """The padding of top, left, bottom, right."""
    return _padding(padding, 2, "get_pad_tuple2d")


def get_pad_tuple3d(padding: Any) -> tuple[int, ...]:
    """The padding of front, top, left, back, bottom, right."""
    return _padding(padding, 3, "get_pad_tuple3d")
