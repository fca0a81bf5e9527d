"""The meaning in numpy of what lowering leaves: storage, the heap of sizes, checks.

Storage is an array of bytes, a tensor a view of it; the heap is an array of int64. So lowered
programs can be compared with what they came from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tvm.error import DTypeError, ShapeError, TVMError, message
from tvm.support.dtype import DataType

from .numpy_dtype import numpy_dtype

Value: TypeAlias = Any


def _new_tensor(shape: Sequence[int], dtype: DataType, *rest: Value) -> Value:
    return np.zeros(tuple(shape), numpy_dtype(dtype))


def _new_storage(size: Sequence[int], *rest: Value) -> Value:
    return np.zeros(math.prod(size), np.uint8)


def _machine_storage(size: Sequence[int], device: int, dtype: DataType, *rest: Value) -> Value:
    """The machine counts elements, where the planner counts bytes."""
    return np.zeros(math.prod(size) * DataType(str(dtype)).itemsize, np.uint8)


def _tensor_in(storage: Value, offset: int, shape: Sequence[int], dtype: DataType) -> Value:
    kind = np.dtype(numpy_dtype(dtype))
    nbytes = math.prod(shape) * kind.itemsize
    if offset + nbytes > storage.nbytes:
        raise ShapeError(
            message(
                f"a tensor of {nbytes} bytes at offset {offset}",
                found=f"storage of {storage.nbytes} bytes",
                legal="a tensor that lies within its storage",
            )
        )
    return storage[offset : offset + nbytes].view(kind).reshape(tuple(shape))


def _nothing(*args: Value) -> Value:
    return ()


def _check_at_most(heap: Value, index: int, most: int, where: str) -> Value:
    if heap[index] > most:
        asked, found = f"check failed: {where}", str(heap[index])
        raise ShapeError(message(asked, found=found, legal=f"at most {most}"))
    return ()


# Operators, by name; what they give is not copied.
MACHINE_OPERATORS: Final[dict[str, Callable[..., Value]]] = {
    "relax.builtin.alloc_tensor": _new_tensor,
    "relax.memory.alloc_storage": _new_storage,
    "relax.memory.alloc_tensor": _tensor_in,
    "relax.memory.kill_storage": _nothing,
    "relax.memory.kill_tensor": _nothing,
    "relax.vm.alloc_storage": _machine_storage,
    "relax.vm.alloc_tensor": _tensor_in,
    "relax.vm.kill_object": _nothing,
}


def _shape_of(value: Value) -> tuple[int, ...]:
    return tuple(value.shape) if isinstance(value, np.ndarray) else tuple(value)


def _match_shape(value: Value, heap: Value, size: int, *codes: Value) -> Value:
    shape = _shape_of(value)
    if len(shape) != size:
        raise ShapeError(message(str(codes[-1]), found=f"{shape}", legal=f"{size} dimensions"))
    for i, extent in enumerate(shape):
        code, number = codes[2 * i], codes[2 * i + 1]
        if code == 1:
            heap[number] = extent
        elif code != 2:
            wanted = number if code == 0 else int(heap[number])
            if wanted != extent:
                raise ShapeError(
                    message(str(codes[-1]), found=f"{shape}", legal=f"{wanted} at {i}")
                )
    return ()


def _match_prim_value(value: Value, heap: Value, code: int, number: int, where: str) -> Value:
    return _match_shape((int(value),), heap, 1, code, number, where)


def _read(heap: Value, code: int, number: int) -> int:
    return number if code == 0 else int(heap[number])


def _check_tensor(value: Value, ndim: int, dtype: DataType, where: str) -> Value:
    if not isinstance(value, np.ndarray) or ndim not in (-1, value.ndim):
        raise ShapeError(message(where, found=f"{value!r}", legal=f"a tensor, {ndim} dimensions"))
    if str(dtype) not in ("", "void") and value.dtype != numpy_dtype(dtype):
        raise DTypeError(message(where, found=f"{value.dtype}", legal=str(dtype)))
    return ()


def _check_sized(value: Value, size: int, where: str) -> Value:
    if not isinstance(value, (tuple, list)) or size not in (-1, len(value)):
        raise ShapeError(message(where, found=f"{value!r}", legal=f"{size} values"))
    return ()


def _check_number(value: Value, dtype: DataType, where: str) -> Value:
    if not isinstance(value, (bool, int, float, np.generic)):
        raise TVMError(message(where, found=f"{value!r}", legal=f"a {dtype}"))
    return ()


def _check_function(value: Value, where: str) -> Value:
    if isinstance(value, (np.ndarray, tuple, int, float, str)):
        raise TVMError(message(where, found=f"{value!r}", legal="a function"))
    return ()


def _view(value: Value, shape: Sequence[int], dtype: DataType, offset: int = 0) -> Value:
    raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    return _tensor_in(raw, offset, shape, dtype)


# Functions of the machine, by name.
MACHINE_FUNCTIONS: Final[dict[str, Callable[..., Value]]] = {
    "vm.builtin.alloc_shape_heap": lambda size: np.zeros(size, np.int64),
    "vm.builtin.match_shape": _match_shape,
    "vm.builtin.match_prim_value": _match_prim_value,
    "vm.builtin.check_at_most": _check_at_most,
    "vm.builtin.make_prim_value": _read,
    "vm.builtin.check_tensor_info": _check_tensor,
    "vm.builtin.check_shape_info": _check_sized,
    "vm.builtin.check_tuple_info": _check_sized,
    "vm.builtin.check_prim_value_info": _check_number,
    "vm.builtin.check_func_info": _check_function,
    "vm.builtin.tuple_getitem": lambda value, index: value[index],
    "vm.builtin.reshape": lambda value, shape: np.reshape(value, tuple(shape)),
    "vm.builtin.copy": lambda value: value,
    "vm.builtin.to_device": lambda value, kind, number: value,
    "vm.builtin.ensure_zero_offset": lambda value: value,
    "runtime.TVMTensorCreateView": _view,
}


def made_shape(heap: Value, size: int, *codes: int) -> list[int]:
    """The extents that `vm.builtin.make_shape` gives."""
    return [_read(heap, codes[2 * i], codes[2 * i + 1]) for i in range(size)]


__all__ = ["MACHINE_FUNCTIONS", "MACHINE_OPERATORS", "made_shape"]
