"""Memory while a program runs: runs of elements, and buffers as numpy views of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.support.dtype import DataType

from .errors import InterpreterError
from .values import numpy_dtype

Array = Any  # numpy.ndarray


class Pointer:
    """An address: a run of elements, and the number of the element pointed at."""

    __slots__ = ("data", "offset")

    def __init__(self, data: Array, offset: int = 0) -> None:
        self.data: Final = data
        self.offset: Final = offset

    def moved(self, elements: int) -> Pointer:
        """The address a number of elements further."""
        return Pointer(self.data, self.offset + elements)

    def moved_bytes(self, count: int) -> Pointer:
        """The address a number of bytes further."""
        size = self.data.dtype.itemsize
        if count % size == 0:
            return self.moved(count // size)
        return Pointer(self.data.view(np.uint8), self.offset * size + count)

    def address(self) -> int:
        """Where the element lies, as a number."""
        return int(self.data.ctypes.data) + self.offset * int(self.data.itemsize)

    def typed(self, kind: Any) -> Pointer:
        """The same address, its memory read as another type."""
        if self.data.dtype == kind:
            return self
        if self.data.dtype.itemsize == kind.itemsize:
            return Pointer(self.data.view(kind), self.offset)
        start = self.offset * self.data.dtype.itemsize
        if start % kind.itemsize:
            raise InterpreterError(f"address {start} is not aligned for {kind}")
        raw = self.data.view(np.uint8)
        whole = raw.size // kind.itemsize * kind.itemsize
        return Pointer(raw[:whole].view(kind), start // kind.itemsize)


def allocate(dtype: DataType, count: int) -> Pointer:
    """Fresh memory; its content is a mark, so that reading it before writing shows up."""
    kind = numpy_dtype(dtype)
    if count < 0:
        raise InterpreterError(f"an allocation of {count} elements; legal: at least 0")
    data = np.empty(count * dtype.lanes, kind)
    if kind.kind == "f" or dtype.is_floating:
        data.fill(np.nan)
    elif kind.kind in "iu":
        data.view(np.uint8).fill(0x5A)
    else:
        data.fill(0)
    return Pointer(data)


def buffer_view(
    name: str,
    dtype: DataType,
    pointer: Pointer,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
) -> Array:
    """The buffer as an array; elements that are vectors have a last dimension for their lanes."""
    data = pointer.typed(numpy_dtype(dtype))
    lanes = dtype.lanes
    start = data.offset + offset * lanes
    dims, steps = list(shape), list(strides) or _row_major(shape)
    if lanes > 1:
        dims, steps = [*dims, lanes], [*(s * lanes for s in steps), 1]
    if 0 in dims:
        return np.empty(dims, data.data.dtype)
    low = start + sum((d - 1) * s for d, s in zip(dims, steps) if s < 0)
    high = start + sum((d - 1) * s for d, s in zip(dims, steps) if s > 0)
    if low < 0 or high >= data.data.size:
        raise InterpreterError(
            f"buffer {name} of shape {tuple(shape)} covers elements {low} to {high} of memory "
            f"that has {data.data.size}"
        )
    if not strides:
        return data.data[start : high + 1].reshape(dims)
    size = data.data.itemsize
    return np.lib.stride_tricks.as_strided(
        data.data[start:], tuple(dims), tuple([s * size for s in steps])
    )


def _row_major(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return strides


def run_of_memory(array: Array) -> Pointer:
    """The memory under an array, as one run of elements."""
    if array.flags.c_contiguous:
        return Pointer(array.reshape(-1))
    size = array.itemsize
    if any(s % size or s < 0 for s in array.strides):
        raise InterpreterError(
            f"an argument has strides {array.strides} in bytes; legal: whole elements, forward"
        )
    reach = sum((d - 1) * s // size for d, s in zip(array.shape, array.strides)) + 1
    if array.size == 0:
        reach = 0
    return Pointer(np.lib.stride_tricks.as_strided(array, (reach,), (size,)))


def element_strides(array: Array) -> list[int]:
    """The strides of an array in elements."""
    return [s // array.itemsize for s in array.strides]


def pick(array: Array, indices: tuple[Any, ...]) -> Any:
    """The elements at indices: a view of the array where they lie on a grid."""
    for index in indices:
        if isinstance(index, np.ndarray):
            view = _grid(array, indices)
            return array[indices] if view is None else view
    return array[indices]


def put(array: Array, indices: tuple[Any, ...], value: Any) -> None:
    """Set the elements at indices."""
    for index in indices:
        if isinstance(index, np.ndarray):
            view = _grid(array, indices)
            if view is not None:
                view[...] = value
                return
            break
    array[indices] = value


def _grid(array: Array, indices: tuple[Any, ...]) -> Any:
    """A view in which each index is a range along a dimension of its own, or None.

    Gathering by index arrays costs ten times as much as the arithmetic around it.
    """
    key: list[Any] = []
    moved: list[int] = []
    ndim = 0
    for index in indices:
        if not isinstance(index, np.ndarray):
            key.append(index)
            continue
        ndim = index.ndim
        if index.size == 1:
            key.append(int(index.reshape(-1)[0]))
            continue
        dims = [d for d, n in enumerate(index.shape) if n != 1]
        if len(dims) != 1 or dims[0] in moved or index.size == 0:
            return None
        flat = index.reshape(-1)
        first, step = int(flat[0]), int(flat[1]) - int(flat[0])
        if step <= 0 or not (flat[1:] - flat[:-1] == step).all():
            return None
        key.append(slice(first, int(flat[-1]) + 1, step))
        moved.append(dims[0])
    if not moved:
        return None  # a single element would be a copy
    view = array[tuple(key)]
    order = sorted(range(len(moved)), key=moved.__getitem__)
    if order != list(range(len(moved))):
        view = view.transpose(order)
    return view[tuple([slice(None) if d in moved else None for d in range(ndim)])]
