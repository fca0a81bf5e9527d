"""Functions that the virtual machine's programs call by name: `vm.builtin.*`.

The first argument of those that allocate is the machine itself. Shape programs are pairs of codes
and values, as the compiler writes them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tvm.error import ArgumentDTypeError, ShapeError, message
from tvm.ffi import library, register_global_func
from tvm.support.dtype import DataType

from ._device import Device
from ._tensor import (
    Tensor,
    empty,
    host_bytes,
    host_piece,
    is_shared_kind,
    refuse_size,
    unsafe_view,
)
from .module import Module

BUILTINS: dict[str, Callable[..., Any]] = {}


class VMShape(tuple[int, ...]):
    """A shape within the machine; outside of it, it is a `tvm.runtime.ShapeTuple`."""

    __slots__ = ()


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

        @functools.wraps(func)
        def from_outside(*args: Any) -> Any:
            return outside(func(*args))

        register_global_func("vm.builtin." + name, from_outside, override=True)
        return func

    return add


def outside(value: Any) -> Any:
    """A value of the machine as its caller sees it."""
    if type(value) is VMShape:
        return library().Shape(value)
    if type(value) is tuple:
        return tuple(outside(one) for one in value)
    if isinstance(value, Module):  # the library would take what can be called for a function
        return library().core._convert_to_opaque_object(value)
    return value


def _asked(context: Any, wanted: str) -> str:
    where = str(context or "").strip()
    return f"check failed: {where} expects {wanted}" if where else f"check failed: expects {wanted}"


def _cells(heap: Any) -> Any:
    """The numbers of a heap; a tensor's memory is shared."""
    return np.from_dlpack(heap) if isinstance(heap, Tensor) else heap


def shape_tuple(value: Any) -> tuple[int, ...]:
    """The extents of a shape, or of a tensor."""
    if type(value) is VMShape:
        return value
    source = value.shape if isinstance(value, Tensor) else value
    return tuple(int(extent) for extent in source)


# --- shapes ---


@_builtin("alloc_shape_heap")
def alloc_shape_heap(vm: Any, size: int) -> Any:
    """Room for the symbolic sizes of one call."""
    return np.zeros(int(size), np.int64)


@_builtin("shape_of")
def shape_of(value: Tensor) -> VMShape:
    """The shape of a tensor."""
    return VMShape(shape_tuple(value))


@_builtin("match_shape")
def match_shape(value: Any, heap: Any, size: int, *rest: Any) -> None:
    """Check a shape against a pattern, and remember its symbolic sizes."""
    context = rest[-1] if len(rest) % 2 else ""
    shape = shape_tuple(value)
    if len(shape) != size:
        raise ShapeError(
            message(
                _asked(context, f"a shape with ndim {size}"),
                found=f"shape {shape}, with ndim {len(shape)}",
                legal=f"{size} dimensions",
            )
        )
    cells = _cells(heap)
    for i, extent in enumerate(shape):
        code, number = rest[2 * i], rest[2 * i + 1]
        if code == MatchShapeCode.STORE_TO_HEAP:
            cells[number] = extent
        elif code != MatchShapeCode.NO_OP:
            by_value = code == MatchShapeCode.ASSERT_EQUAL_TO_IMM
            wanted = number if by_value else int(cells[number])
            if extent != wanted:
                raise ShapeError(
                    message(
                        _asked(context, f"extent {wanted} in dimension {i}"),
                        found=f"shape {shape}: extent {i} is {extent}",
                        legal=f"{_pattern(rest, size, cells)}",
                    )
                )


def _pattern(codes: Sequence[Any], size: int, cells: Any) -> str:
    """The shape that would have matched; `_` for what may be anything."""
    shown = []
    for i in range(size):
        code, number = codes[2 * i], codes[2 * i + 1]
        if code == MatchShapeCode.ASSERT_EQUAL_TO_IMM:
            shown.append(str(number))
        elif code == MatchShapeCode.ASSERT_EQUAL_TO_LOAD:
            shown.append(str(int(cells[number])))
        else:
            shown.append("_")
    return f"({', '.join(shown)}{',' if size == 1 else ''})"


@_builtin("make_shape")
def make_shape(heap: Any, size: int, *pairs: Any) -> VMShape:
    """A shape of numbers and remembered sizes."""
    cells = _cells(heap)
    codes, numbers = pairs[::2], pairs[1::2]
    return VMShape(
        [n if code == 0 else int(cells[n]) for code, n in zip(codes, numbers)]
    )


@_builtin("match_prim_value")
def match_prim_value(value: Any, heap: Any, code: int, number: int, context: Any = "") -> None:
    """Check a number against a pattern, or remember it."""
    match_shape((int(value),), heap, 1, code, number, context)


@_builtin("check_at_most")
def check_at_most(heap: Any, index: int, most: int, where: str) -> None:
    """Check a remembered size against the largest that the program was made for."""
    size = int(_cells(heap)[index])
    if size > most:
        asked = f"check failed: {where}"
        raise ShapeError(message(asked, found=str(size), legal=f"at most {most}"))


@_builtin("make_prim_value")
def make_prim_value(heap: Any, code: int, number: int) -> int:
    """A number, or a remembered size."""
    return int(number) if code == MakeShapeCode.USE_IMM else int(_cells(heap)[number])


@_builtin("tensor_to_shape")
def tensor_to_shape(value: Tensor) -> VMShape:
    """The values of a one-dimensional integer tensor as a shape."""
    values = value.numpy()
    if values.ndim != 1:
        found = f"a tensor of shape {shape_tuple(value)}"
        raise ShapeError(message("tensor_to_shape", found=found, legal="one dimension"))
    if values.dtype.kind != "i":
        found, legal = f"dtype {value.dtype}", "int8, int16, int32, int64"
        raise ArgumentDTypeError(message("tensor_to_shape", found=found, legal=legal))
    return VMShape(values.tolist())


# --- checks ---


@_builtin("check_tensor_info")
def check_tensor_info(value: Any, ndim: int, *rest: Any) -> None:
    """Check that an argument is a tensor of a rank (-1: any) and, where given, a type."""
    dtype, context = (None, rest[0]) if len(rest) == 1 else (rest[0], rest[1])
    if not isinstance(value, Tensor):
        asked = _asked(context, "a Tensor")
        raise TypeError(message(asked, found=type(value).__name__, legal="a tensor"))
    if ndim >= 0 and value.ndim != ndim:
        found = f"a tensor of shape {shape_tuple(value)}"
        asked = _asked(context, f"a Tensor with ndim {ndim}")
        raise ShapeError(message(asked, found=found, legal=f"{ndim} dimensions"))
    if dtype is not None and str(dtype) not in ("", "void") and str(value.dtype) != str(dtype):
        asked = _asked(context, f"a Tensor with dtype {dtype}")
        raise ArgumentDTypeError(
            message(asked, found=f"dtype {value.dtype}", legal=f"dtype {dtype}")
        )


@_builtin("check_shape_info")
def check_shape_info(value: Any, ndim: int, context: Any = "") -> None:
    """Check that an argument is a shape of a rank (-1: any)."""
    if not isinstance(value, (tuple, list)):
        asked = _asked(context, "a Shape")
        raise TypeError(message(asked, found=type(value).__name__, legal="a shape"))
    if ndim >= 0 and len(value) != ndim:
        raise ShapeError(
            message(
                _asked(context, f"a Shape with ndim {ndim}"),
                found=f"shape {tuple(value)}",
                legal=f"{ndim} dimensions",
            )
        )


@_builtin("check_prim_value_info")
def check_prim_value_info(value: Any, dtype: Any, context: Any = "") -> None:
    """Check that an argument is a number of a kind."""
    kind = DataType(str(dtype))
    legal = (float, int) if kind.is_floating else (int,)  # truth values are integers
    if not isinstance(value, legal):
        asked = _asked(context, f"a {dtype}")
        raise TypeError(message(asked, found=type(value).__name__, legal=str(dtype)))


@_builtin("check_tuple_info")
def check_tuple_info(value: Any, size: int, context: Any = "") -> None:
    """Check that an argument has so many fields."""
    if not isinstance(value, Sequence) or isinstance(value, (str, VMShape, library().Shape)):
        asked = _asked(context, "a Tuple")
        raise TypeError(message(asked, found=type(value).__name__, legal="a tuple"))
    if len(value) != size:
        raise ShapeError(
            message(
                _asked(context, f"a Tuple with {size} elements"),
                found=f"{len(value)} elements",
                legal=f"{size}",
            )
        )


@_builtin("check_func_info")
def check_func_info(value: Any, context: Any = "") -> None:
    """Check that an argument can be called."""
    if not callable(value):
        asked = _asked(context, "a function")
        raise TypeError(message(asked, found=type(value).__name__, legal="a function"))


# --- memory ---


_ADDRESS_SPACE_BYTES = 1 << 47


@_builtin("alloc_storage")
def alloc_storage(
    vm: Any, size: Any, device_index: int = 0, dtype: Any = "uint8", scope: str = "global"
) -> Tensor:
    """Memory for so many elements of a type (bytes, for uint8), on the machine's device of that
    number; -1 is the last, the host. A size of several extents is their product.
    """
    extents = [int(size)] if isinstance(size, int) else [int(extent) for extent in size]
    count = math.prod(extents) * DataType(str(dtype)).itemsize
    # a size below zero was too large for its 64 bits, or is of extents below zero: `alloc_tensor`
    # knows the shape, and says which
    below = any(extent < 0 for extent in extents)
    dev, nbytes = vm.device_at(int(device_index)), 1 if below else max(count, 1)
    if dev.type == "cpu" and dev.index == 0:
        return host_bytes(nbytes)
    return empty((nbytes,), "uint8", dev)


@_builtin("alloc_tensor")
def alloc_tensor(
    storage: Tensor, offset: int, shape: Any, dtype: Any, vdevice_index: int = 0
) -> Tensor:
    """A tensor within a piece of memory."""
    extents, start = shape_tuple(shape), int(offset)
    nbytes = math.prod(extents) * DataType(dtype).itemsize
    if min(extents, default=0) < 0:
        raise ShapeError(
            message("memory for a tensor", found=f"the shape {extents}", legal="extents from 0 on")
        )
    if nbytes > _ADDRESS_SPACE_BYTES:
        refuse_size(extents, str(dtype), nbytes)
    kind = str(dtype)
    if nbytes and is_shared_kind(kind) and _is_on_host(storage):
        return host_piece(storage, extents, kind, start)
    return storage._create_view(extents, kind, start)


@_builtin("reshape")
def reshape(value: Tensor, shape: Any) -> Tensor:
    """The same values in another shape, without a copy."""
    wanted = shape_tuple(shape)
    if math.prod(wanted) != int(value.numel()):
        raise ShapeError(
            message(
                "reshape", found=f"{shape_tuple(value)} to {wanted}", legal="equal element counts"
            )
        )
    kind = str(value.dtype)
    if is_shared_kind(kind) and _is_on_host(value) and 0 not in wanted:
        return host_piece(value, wanted, kind, 0)
    return unsafe_view(value, wanted, DataType(kind))


def _is_on_host(value: Tensor) -> bool:
    """Whether numpy may look at the memory; what is no object of the library, it may not."""
    return value.device.type == "cpu" and value.device.index == 0 and bool(value.__chandle__())


def create_view(value: Tensor, shape: Any, dtype: Any, relative_byte_offset: int = 0) -> Tensor:
    """The memory of a tensor with another shape or data type, or from a later byte on."""
    return value._create_view(shape_tuple(shape), str(dtype), int(relative_byte_offset))


register_global_func("runtime.TVMTensorCreateView", create_view, override=True)
BUILTINS["runtime.TVMTensorCreateView"] = create_view


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
    """One field of a tuple; IndexError where there is none, also before the first."""
    if index < 0:
        raise IndexError(f"vm.builtin.tuple_getitem: item {index} of {len(value)}")
    return value[int(index)]


@_builtin("tuple_reset_item")
def tuple_reset_item(value: Any, index: int) -> None:
    """Forget a field; tuples here do not change, and die with their last user."""


@_builtin("null_value")
def null_value() -> None:
    """No value."""


@_builtin("read_if_cond")
def read_if_cond(value: Any) -> bool:
    """A condition as a bool: a scalar tensor of an integer type, or a number."""
    if isinstance(value, Tensor):
        dtype = DataType(str(value.dtype))
        if not (dtype.is_bool or dtype.is_integer):
            legal = "a bool or an integer"
            raise ArgumentDTypeError(message("a condition", found=f"dtype {dtype}", legal=legal))
        return bool(value.numpy())
    if not isinstance(value, (bool, int, float)):
        legal = "a bool, or a tensor with one"
        raise TypeError(message("a condition", found=type(value).__name__, legal=legal))
    return bool(value)


class Closure:
    """A function of a program with values for its last parameters."""

    def __init__(self, vm: Any, name: str, captured: tuple[Any, ...]) -> None:
        self.vm = vm
        self.name = name
        self.captured = captured

    def __call__(self, *args: Any) -> Any:
        return self.vm.run(self.name, (*args, *self.captured))


class _NativeClosure:
    """A function that is native code, with values for its last parameters."""

    def __init__(self, func: Callable[..., Any], captured: tuple[Any, ...]) -> None:
        self._func = func
        self._captured = captured

    def __call__(self, *args: Any) -> Any:
        return self._func(*args, *self._captured)


@_builtin("make_closure")
def make_closure(first: Any, *rest: Any) -> Callable[..., Any]:
    """A function together with the values that it captures.

    A function of a program knows its machine, so that none has to be given before it.
    """
    has_machine = hasattr(first, "run")
    vm, func, captured = (first, rest[0], rest[1:]) if has_machine else (None, first, rest)
    if isinstance(func, Closure):
        return Closure(vm or func.vm, func.name, (*captured, *func.captured))
    if callable(func):  # native code; it knows its machine's kernels and needs no name
        return _NativeClosure(func, captured)
    return Closure(vm, str(func), captured)


@_builtin("invoke_closure")
def invoke_closure(vm: Any, closure: Any, *args: Any) -> Any:
    """Call a closure."""
    return closure(*args)


@_builtin("call_tir_dyn")
def call_tir_dyn(func: Any, *args: Any) -> Any:
    """Call a kernel whose last argument is a shape: its extents are passed as numbers."""
    return func(*args[:-1], *shape_tuple(args[-1]))


# --- Python functions ---

_PY_FUNCS: dict[str, Callable[..., Any]] = {}


@_builtin("register_py_func")
def register_py_func(name: str, func: Callable[..., Any]) -> None:
    """Let programs call a Python function by name."""
    _PY_FUNCS[str(name)] = func


@_builtin("get_py_func")
def get_py_func(name: str) -> Callable[..., Any]:
    """A Python function that was registered."""
    found = _PY_FUNCS.get(str(name))
    if found is None:
        raise ValueError(
            message(
                f"call the Python function {str(name)!r}",
                found="no function of this name",
                legal=", ".join(sorted(_PY_FUNCS)) or "none is registered",
            )
        )
    return found


@_builtin("call_py_func")
def call_py_func(name: str, *args: Any) -> Any:
    """Call a Python function; operands that come as one tuple are taken apart."""
    given = args[0] if len(args) == 1 and type(args[0]) is tuple else args
    return get_py_func(name)(*given)


@_builtin("clear_py_func_registry")
def clear_py_func_registry() -> None:
    """Forget all Python functions."""
    _PY_FUNCS.clear()
