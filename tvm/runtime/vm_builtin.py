"""Functions that the virtual machine's programs call by name: `vm.builtin.*`.

The first argument of those that allocate is the machine itself. Shape programs are pairs of codes
and values, as the compiler writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tvm.error import DTypeError, ShapeError, message
from tvm.ffi import register_global_func
from tvm.support.dtype import DataType

from ._device import Device
from ._tensor import Tensor, empty, unsafe_view

BUILTINS: dict[str, Callable[..., Any]] = {}


class MatchShapeCode(IntEnum):
    """What to do with one extent of a shape that arrives."""

    ASSERT_EQUAL_TO_IMM = 0
    STORE_TO_HEAP = 1
    NO_OP = 2
    ASSERT_EQUAL_TO_LOAD = 3


class MakeShapeCode(IntEnum):
    """Where one extent of a new shape comes from."""

    USE_IMM = 0
    LOAD_SHAPE = 1


def _builtin(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(func: Callable[..., Any]) -> Callable[..., Any]:
        BUILTINS["vm.builtin." + name] = func
        register_global_func("vm.builtin." + name, func, override=True)
        return func

    return add


def shape_tuple(value: Any) -> tuple[int, ...]:
    """The extents of a shape, or of a tensor."""
    source = value.shape if isinstance(value, Tensor) else value
    return tuple(int(extent) for extent in source)


# --- shapes ---


@_builtin("alloc_shape_heap")
def alloc_shape_heap(vm: Any, size: int) -> Any:
    """Room for the symbolic sizes of one call."""
    return np.zeros(size, np.int64)


@_builtin("shape_of")
def shape_of(value: Tensor) -> tuple[int, ...]:
    """The shape of a tensor."""
    return shape_tuple(value)


@_builtin("match_shape")
def match_shape(value: Any, heap: Any, size: int, *rest: Any) -> None:
    """Check a shape against a pattern, and remember its symbolic sizes."""
    pairs, context = rest[:-1], rest[-1]
    shape = shape_tuple(value)
    if len(shape) != size:
        raise ShapeError(
            message(
                context or "match a shape",
                found=f"shape {shape}, of {len(shape)} dimensions",
                legal=f"{size} dimensions",
            )
        )
    for i, extent in enumerate(shape):
        code, number = int(pairs[2 * i]), int(pairs[2 * i + 1])
        if code == MatchShapeCode.STORE_TO_HEAP:
            heap[number] = extent
        elif code != MatchShapeCode.NO_OP:
            by_value = code == MatchShapeCode.ASSERT_EQUAL_TO_IMM
            wanted = number if by_value else int(heap[number])
            if extent != wanted:
                raise ShapeError(
                    message(
                        context or "match a shape",
                        found=f"shape {shape}: extent {i} is {extent}",
                        legal=f"{wanted}",
                    )
                )


@_builtin("make_shape")
def make_shape(heap: Any, size: int, *pairs: Any) -> tuple[int, ...]:
    """A shape of numbers and remembered sizes."""
    return tuple(_extent(heap, int(pairs[2 * i]), int(pairs[2 * i + 1])) for i in range(size))


def _extent(heap: Any, code: int, number: int) -> int:
    return number if code == MakeShapeCode.USE_IMM else int(heap[number])


@_builtin("match_prim_value")
def match_prim_value(value: Any, heap: Any, code: int, number: int, context: Any) -> None:
    """Check a number against a pattern, or remember it."""
    match_shape((int(value),), heap, 1, code, number, context)


@_builtin("make_prim_value")
def make_prim_value(heap: Any, code: int, number: int) -> int:
    """A number, or a remembered size."""
    return _extent(heap, int(code), int(number))


@_builtin("tensor_to_shape")
def tensor_to_shape(value: Tensor) -> tuple[int, ...]:
    """The values of a one-dimensional integer tensor as a shape."""
    return tuple(int(v) for v in value.numpy())


# --- checks ---


@_builtin("check_tensor_info")
def check_tensor_info(value: Any, ndim: int, *rest: Any) -> None:
    """Check that an argument is a tensor of a rank (-1: any) and, where given, a type."""
    dtype, context = (None, rest[0]) if len(rest) == 1 else (rest[0], rest[1])
    asked = context or "check an argument"
    if not isinstance(value, Tensor):
        raise TypeError(message(asked, found=type(value).__name__, legal="a tensor"))
    if ndim >= 0 and value.ndim != ndim:
        found = f"a tensor of shape {shape_tuple(value)}"
        raise ShapeError(message(asked, found=found, legal=f"{ndim} dimensions"))
    if dtype is not None and str(dtype) not in ("", "void") and str(value.dtype) != str(dtype):
        raise DTypeError(message(asked, found=f"dtype {value.dtype}", legal=f"dtype {dtype}"))


@_builtin("check_shape_info")
def check_shape_info(value: Any, ndim: int, context: Any) -> None:
    """Check that an argument is a shape of a rank (-1: any)."""
    if not isinstance(value, (tuple, list)) and not hasattr(value, "__len__"):
        raise TypeError(
            message(context or "check an argument", found=type(value).__name__, legal="a shape")
        )
    if ndim >= 0 and len(value) != ndim:
        raise ShapeError(
            message(
                context or "check an argument",
                found=f"shape {tuple(value)}",
                legal=f"{ndim} dimensions",
            )
        )


@_builtin("check_prim_value_info")
def check_prim_value_info(value: Any, dtype: Any, context: Any) -> None:
    """Check that an argument is a number of a kind."""
    kind = DataType(str(dtype))
    legal = (bool,) if kind.is_bool else (float, int) if kind.is_floating else (int,)
    if not isinstance(value, legal):
        raise TypeError(
            message(context or "check an argument", found=type(value).__name__, legal=str(dtype))
        )


@_builtin("check_tuple_info")
def check_tuple_info(value: Any, size: int, context: Any) -> None:
    """Check that an argument has so many fields."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != size:
        raise TypeError(
            message(
                context or "check an argument",
                found=f"{type(value).__name__}",
                legal=f"a tuple of {size} values",
            )
        )


@_builtin("check_func_info")
def check_func_info(value: Any, context: Any) -> None:
    """Check that an argument can be called."""
    if not callable(value):
        raise TypeError(
            message(context or "check an argument", found=type(value).__name__, legal="a function")
        )


# --- memory ---


@_builtin("alloc_storage")
def alloc_storage(
    vm: Any, size: Any, device_index: int = 0, dtype: Any = "uint8", scope: str = "global"
) -> Tensor:
    """Memory of so many bytes, on the machine's device of that number."""
    extents = (int(size),) if isinstance(size, int) else shape_tuple(size)
    count = int(np.prod(extents, dtype=np.int64)) * DataType(str(dtype)).itemsize
    return empty((max(count, 1),), "uint8", vm.device_at(int(device_index)))


@_builtin("alloc_tensor")
def alloc_tensor(
    storage: Tensor, offset: int, shape: Any, dtype: Any, vdevice_index: int = 0
) -> Tensor:
    """A tensor within a piece of memory."""
    return storage._create_view(shape_tuple(shape), str(dtype), int(offset))


@_builtin("reshape")
def reshape(value: Tensor, shape: Any) -> Tensor:
    """The same values in another shape, without a copy."""
    wanted = shape_tuple(shape)
    if int(np.prod(wanted, dtype=np.int64)) != int(value.numel()):
        raise ShapeError(
            message(
                "reshape", found=f"{shape_tuple(value)} to {wanted}", legal="equal element counts"
            )
        )
    return unsafe_view(value, wanted, DataType(str(value.dtype)))


@_builtin("copy")
def copy(value: Any) -> Any:
    """The value itself: registers hold references."""
    return value


@_builtin("to_device")
def to_device(value: Tensor, device_type: int, device_id: int) -> Tensor:
    """A tensor on another device; itself if it is there."""
    target = Device(int(device_type), int(device_id))
    return value if value.device == target else value.copyto(target)


@_builtin("ensure_zero_offset")
def ensure_zero_offset(value: Tensor) -> Tensor:
    """The tensor; views here carry their offset in the address."""
    return value


# --- tuples, closures, control ---


@_builtin("make_tuple")
def make_tuple(*values: Any) -> tuple[Any, ...]:
    """Values as a tuple."""
    return values


@_builtin("tuple_getitem")
def tuple_getitem(value: Any, index: int) -> Any:
    """One field of a tuple."""
    return value[int(index)]


@_builtin("tuple_reset_item")
def tuple_reset_item(value: Any, index: int) -> None:
    """Forget a field; tuples here do not change, and die with their last user."""


@_builtin("null_value")
def null_value() -> None:
    """No value."""


@_builtin("read_if_cond")
def read_if_cond(value: Any) -> bool:
    """A condition as a bool."""
    return bool(value.numpy()) if isinstance(value, Tensor) else bool(value)


class Closure:
    """A function of a program with values for its last parameters."""

    def __init__(self, vm: Any, name: str, captured: tuple[Any, ...]) -> None:
        self.vm = vm
        self.name = name
        self.captured = captured

    def __call__(self, *args: Any) -> Any:
        return self.vm.run(self.name, (*args, *self.captured))


@_builtin("make_closure")
def make_closure(vm: Any, func: Any, *captured: Any) -> Closure:
    """A function together with the values that it captures."""
    if isinstance(func, Closure):
        return Closure(vm, func.name, (*captured, *func.captured))
    return Closure(vm, str(func), captured)


@_builtin("invoke_closure")
def invoke_closure(vm: Any, closure: Any, *args: Any) -> Any:
    """Call a closure."""
    return closure(*args)


@_builtin("call_tir_dyn")
def call_tir_dyn(func: Any, *args: Any) -> Any:
    """Call a kernel whose last argument is a shape: its extents are passed as numbers."""
    return func(*args[:-1], *shape_tuple(args[-1]))
