"""A slice along one axis."""

from __future__ import annotations

from typing import Any


def slice_axis_python(data: Any, axis: int, begin: int, end: int | None = None) -> Any:
    """data[..., begin:end, ...] along an axis."""
    where = [slice(None)] * data.ndim
    where[axis] = slice(begin, end)
    return data[tuple(where)]
