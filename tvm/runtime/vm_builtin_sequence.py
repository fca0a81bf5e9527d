"""Sequences of tensors, and values that may be missing, as programs see them that are given such.

Kernels do not see them; items keep their shapes, which differ from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.error import ArgumentValueError, message

from ._tensor import Tensor, tensor
from .vm_builtin import _builtin


@_builtin("given")
def given(value: Any, name: str, dtype: str, ndim: int, is_sequence: int, optional: int) -> Any:
    """A sequence or an optional value that the caller gives, if it is as the program has it.

    `ndim` is -1 where tensors may be of any rank.
    """
    if value is None and optional:
        return None
    items = value if is_sequence else [value]
    if not isinstance(items, Sequence):
        raise _unfit(name, "a sequence", type(value).__name__)
    tensors = [tensor(np.asarray(item)) if isinstance(item, _NUMBERS) else item for item in items]
    for item in tensors:
        if not isinstance(item, Tensor):
            raise _unfit(name, "tensors", type(item).__name__)
        if str(item.dtype) != dtype or ndim not in (-1, len(item.shape)):
            rank = "" if ndim < 0 else f", {ndim} dimensions"
            found = f"{item.dtype}, {len(item.shape)} dimensions"
            raise _unfit(name, f"tensors of {dtype}{rank}", found)
    return tuple(tensors) if is_sequence else tensors[0]


_NUMBERS = (bool, int, float, np.generic)


def _unfit(name: str, legal: str, found: str) -> ArgumentValueError:
    return ArgumentValueError(message(f"argument {name!r}", found=found, legal=legal))


def _place(at: Tensor, count: int, asked: str) -> int:
    """A position, counted from the end if it is negative."""
    place = int(at.numpy().reshape(()))
    if not -count <= place < count:
        raise IndexError(f"{asked}: item {place} of a sequence of {count}")
    return place + count if place < 0 else place


@_builtin("sequence_length")
def sequence_length(value: Any) -> Tensor:
    """How many items there are, as a tensor () of int64."""
    return tensor(np.asarray(len(value), "int64"))


@_builtin("sequence_at")
def sequence_at(value: Any, at: Tensor) -> Any:
    """One item."""
    return value[_place(at, len(value), "SequenceAt")]


@_builtin("sequence_insert")
def sequence_insert(value: Any, item: Tensor, *at: Tensor) -> Any:
    """With one item more, before a position or at the end."""
    end = len(value)
    if at and int(at[0].numpy().reshape(())) != end:
        end = _place(at[0], end, "SequenceInsert")
    return (*value[:end], item, *value[end:])


@_builtin("sequence_erase")
def sequence_erase(value: Any, *at: Tensor) -> Any:
    """Without one item, the last if no position says which."""
    place = _place(at[0] if at else tensor(np.asarray(-1)), len(value), "SequenceErase")
    return (*value[:place], *value[place + 1 :])


@_builtin("sequence_concat")
def sequence_concat(value: Any, axis: int, new_axis: int) -> Tensor:
    """The items beside each other along an axis, or along a new one."""
    arrays = [item.numpy() for item in value]
    try:
        joined = np.stack(arrays, axis) if new_axis else np.concatenate(arrays, axis)
    except ValueError as err:
        raise ValueError(f"ConcatFromSequence along axis {axis}: {err}") from err
    return tensor(joined)


@_builtin("sequence_rows")
def sequence_rows(rows: Tensor) -> Any:
    """The rows of a tensor as a sequence."""
    return tuple(tensor(np.ascontiguousarray(row)) for row in rows.numpy())


@_builtin("optional_has_element")
def optional_has_element(value: Any) -> Tensor:
    """Whether there is a value, as a tensor () of bool."""
    return tensor(np.asarray(value is not None))


@_builtin("optional_get_element")
def optional_get_element(value: Any) -> Any:
    """The value, which must be there."""
    if value is None:
        raise ValueError("OptionalGetElement: the optional value is none")
    return value
