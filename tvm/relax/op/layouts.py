"""Layouts as operators need them: which extent belongs to which letter, and back.

    "NCHW"     (1, 8, 5, 5)       ->  N: 1, C: 8, H: 5, W: 5
    "NCHW4c"   (1, 2, 5, 5, 4)    ->  N: 1, C: 8, H: 5, W: 5
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import TensorStructInfo, const_int
from tvm.tir import op as tir_op
from tvm.tir.expr import INT64, IntImm

from .declare import (
    Array,
    Infer,
    listed,
    whole,
)
from .shapes import check_ndim

_PART = re.compile(r"(\d*)([A-Za-z])")


@cache
def layout_parts(layout: str) -> tuple[tuple[int, str], ...]:
    """The dimensions of a layout: (0, "C") for a whole one, (4, "c") for a part of it."""
    return tuple((int(size or 0), letter) for size, letter in _PART.findall(layout))


def check_layout(ctx: Infer, name: str, layout: str, letters: str) -> tuple[tuple[int, str], ...]:
    """The parts of a layout; an error unless it has just the given letters."""
    parts = layout_parts(layout)
    if not _fits(layout, letters):
        raise ctx.error(
            f"{name} does not fit",
            f"{layout!r}",
            f"the letters {letters} in any order, and parts such as 4c",
        )
    return parts


@cache
def _fits(layout: str, letters: str) -> bool:
    parts = layout_parts(layout)
    whole = [letter for size, letter in parts if letter.isupper()]
    inner = [letter for size, letter in parts if letter.islower()]
    sized = all((size > 0) == letter.islower() for size, letter in parts)
    text = "".join(f"{size or ''}{letter}" for size, letter in parts)
    fits = sorted(whole) == sorted(letters) and set("".join(inner).upper()) <= set(letters)
    return text == layout and sized and fits and len(set(inner)) == len(inner)


def extents_by_letter(
    ctx: Infer, name: str, info: TensorStructInfo, layout: str, letters: str
) -> dict[str, PrimExpr] | None:
    """The extent of each letter of the layout; None while the shape is not known."""
    parts = check_layout(ctx, f"the layout of {name}", layout, letters)
    check_ndim(ctx, name, info, len(parts))
    if info.values is None:
        return None
    found: dict[str, PrimExpr] = {}
    for (_, letter), extent in zip(parts, info.values):
        if letter.isupper():
            found[letter] = extent
    for size, letter in parts:
        if letter.islower():
            found[letter.upper()] = found[letter.upper()] * size
    return found


def arranged(extents: dict[str, PrimExpr], layout: str) -> list[PrimExpr]:
    """The shape that a layout gives to the extents."""
    parts = layout_parts(layout)
    inner = {letter.upper(): size for size, letter in parts if letter.islower()}
    result: list[PrimExpr] = []
    for size, letter in parts:
        if letter.islower():
            result.append(IntImm(INT64, size))
        elif letter in inner:
            result.append(simplify(tir_op.floordiv(extents[letter], inner[letter])))
        else:
            result.append(simplify(extents[letter]))
    return result


def to_plain(array: Array, layout: str, letters: str) -> Array:
    """An array brought from a layout to one dimension a letter, in the order of `letters`."""
    parts = layout_parts(layout)
    order: list[int] = []
    shape: list[int] = []
    for wanted in letters:
        outer = next(i for i, (_, letter) in enumerate(parts) if letter == wanted)
        inner = [i for i, (_, letter) in enumerate(parts) if letter == wanted.lower()]
        order += [outer, *inner]
        shape.append(array.shape[outer] * int(np.prod([array.shape[i] for i in inner] or [1])))
    return array.transpose(order).reshape(shape)


def from_plain(array: Array, layout: str, letters: str) -> Array:
    """The way back: an array of one dimension a letter brought into a layout."""
    parts = layout_parts(layout)
    inner = {letter.upper(): size for size, letter in parts if letter.islower()}
    shape: list[int] = []
    names: list[str] = []
    for wanted, extent in zip(letters, array.shape):
        if wanted in inner:
            shape += [extent // inner[wanted], inner[wanted]]
            names += [wanted, wanted.lower()]
        else:
            shape.append(extent)
            names.append(wanted)
    return array.reshape(shape).transpose([names.index(letter) for _, letter in parts])


def windows(
    extent: PrimExpr, size: Any, before: int, after: int, stride: int, dilation: int, ceil: bool
) -> PrimExpr:
    """How many windows fit along one dimension."""
    known, width = const_int(extent), const_int(size)
    if known is not None and width is not None:
        room = known + before + after - (width - 1) * dilation - 1
        return IntImm(INT64, (room + (stride - 1 if ceil else 0)) // stride + 1)
    span = extent + (before + after) - (size - 1) * dilation - 1
    if ceil:
        span = span + (stride - 1)
    return tir_op.floordiv(span, stride) + 1


def spread(value: Any, count: int, name: str) -> tuple[int, ...]:
    """One number for each spatial dimension."""
    numbers = (value,) * count if isinstance(value, int) else _wholes(value, name)
    if len(numbers) == 1:
        numbers *= count
    if len(numbers) != count:
        raise ShapeError(f"{name} must have 1 or {count} numbers, found {list(numbers)}")
    return numbers


def _wholes(value: Any, name: str) -> tuple[int, ...]:
    return tuple(whole(part, name) for part in listed(value, name))


def positive(value: Any, count: int, name: str) -> tuple[int, ...]:
    """As `spread`, for numbers that must be 1 or more."""
    numbers = spread(value, count, name)
    if any(n < 1 for n in numbers):
        raise ShapeError(f"{name} must be 1 or more, found {list(numbers)}")
    return numbers


def padding_of(value: Any, count: int) -> tuple[int, ...]:
    """Padding before all spatial dimensions, then after them: 1, `count` or 2 * `count` numbers."""
    numbers = (value,) if isinstance(value, int) else _wholes(value, "padding")
    if len(numbers) == 1:
        return numbers * (2 * count)
    if len(numbers) == count:
        return numbers * 2
    if len(numbers) == 2 * count:
        return numbers
    raise ShapeError(
        f"padding must have 1, {count} or {2 * count} numbers, found {list(numbers)}"
    )


def spatial(count: int) -> str:
    """The letters of so many spatial dimensions: W, HW, DHW."""
    return "DHW"[3 - count :]


def letters_of(prefix: str, count: int) -> str:
    """The letters of a layout in its plain order: "NC" and 2 are NCHW."""
    return prefix + spatial(count)


def axes_of(layout: str, wanted: Sequence[str]) -> list[int]:
    """Where the letters stand in a layout."""
    names = [letter for _, letter in layout_parts(layout)]
    return [names.index(letter) for letter in wanted]
