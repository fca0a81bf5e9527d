"""Slices with strides, read and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def _slices(
    data: Any, begin: Sequence[int], end: Sequence[int], strides: Any, mode: str, axes: Any
) -> tuple[slice, ...]:
    steps = [strides] * len(begin) if isinstance(strides, int) else list(strides or [])
    steps += [1] * (len(begin) - len(steps))
    dims = list(axes) if axes else list(range(len(begin)))
    slices = [slice(None)] * data.ndim
    for k, axis in enumerate(dims):
        low, high = int(begin[k]), int(end[k]) if k < len(end) else None
        if mode == "size":
            high = None if high is None or high < 0 else low + high
            slices[axis] = slice(low, high)
        else:
            slices[axis] = slice(low, high, int(steps[k]))
    return tuple(slices)


def strided_slice_python(
    data: Any, begin: Sequence[int], end: Sequence[int], strides: Any, slice_mode: str = "end",
    axes: Any = None,
) -> Any:  # fmt: skip
    """data[begin:end:strides] along the axes, or along the first ones."""
    return data[_slices(data, begin, end, strides, slice_mode, axes)]


def strided_set_python(
    data: Any, v: Any, begin: Sequence[int], end: Sequence[int], strides: Any
) -> Any:
    """A copy of the data with v instead of data[begin:end:strides]."""
    result = data.copy()
    result[_slices(data, begin, end, strides, "end", None)] = v
    return result
