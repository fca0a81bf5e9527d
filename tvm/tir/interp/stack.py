"""Calls between functions in C's convention: structures on the stack, arguments and results.

A structure is a table of fields by number (`StructField`); the arrays and lists that callers in
Python hand over are read as if they were structures.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tvm.error import message
from tvm.ffi.registry import get_global_func
from tvm.ir.expr import GlobalVar
from tvm.ir.op import Op
from tvm.support.dtype import DataType, narrow_float_of
from tvm.tir import expr as e
from tvm.tir.struct_field import StructField, TypeIndex

from .errors import InterpreterError
from .expr import Code, Frame
from .memory import Pointer, allocate, buffer_view, element_strides, run_of_memory
from .values import Value, numpy_dtype

_TASKS: Final = 3  # as many as a pool has threads
UNSET: Final = 0x5A5A5A5A5A5A5A5A  # numbers that nothing has written
# How far apart the structures of a kind lie; nothing steps through DLTensors in bytes.
_BYTES: Final = {"tvm_ffi_any": 16}
_TENSOR_CODES: Final = (StructField.TENSOR_TYPE_BITS, StructField.TENSOR_TYPE_LANES)


class Slot(NamedTuple):
    """The address of one of the structures that lie behind one another."""

    fields: dict[tuple[int, int], Value]
    at: int = 0
    size_bytes: int = 8

    def moved_bytes(self, count: int) -> Slot:
        """The address a number of bytes further."""
        return Slot(self.fields, self.at + count // self.size_bytes, self.size_bytes)

    def get(self, index: int, field: int) -> Value:
        """A field of the structure at a distance."""
        found = self.fields.get((self.at + index, field))
        if found is None:
            raise InterpreterError(
                message(
                    "read a field of a structure on the stack",
                    found=f"{StructField(field).name} of element {index}, which nothing has set",
                    legal="fields that tvm_struct_set wrote before",
                )
            )
        return found


def stack_alloca(compiler: Any, op: e.Call) -> Code:
    """`(kind, count)`: room for structures, or for the numbers of shapes."""
    if getattr(op.args[0], "value", "") == "shape":
        count = compiler.compile(op.args[1])
        return lambda frame: Pointer(np.full(int(count(frame)), UNSET, np.int64))
    size = _BYTES.get(getattr(op.args[0], "value", ""), 8)
    return lambda frame: Slot({}, 0, size)


def struct_set(compiler: Any, op: e.Call) -> Code:
    """`(address, index, field, value)`."""
    struct, index, field, value = (compiler.compile(a) for a in op.args)

    def run(frame: Frame) -> Value:
        slot = struct(frame)
        if isinstance(slot, Slot):
            slot.fields[slot.at + int(index(frame)), int(field(frame))] = value(frame)
        elif isinstance(slot, Pointer):
            slot.data[slot.offset + int(index(frame))] = value(frame)
        else:
            raise _no_structure(slot)
        return np.int32(0)

    return run


def struct_get(compiler: Any, op: e.Call) -> Code:
    """`(address, index, field)`, in the type of the call."""
    struct, index, number = (compiler.compile(a) for a in op.args)
    dtype = op.dtype

    def run(frame: Frame) -> Value:
        value = _field(struct(frame), int(index(frame)), StructField(int(number(frame))))
        if dtype.is_handle or not isinstance(value, (int, float, np.generic)):
            return value
        return numpy_dtype(dtype).type(value)

    return run


def _field(struct: Any, index: int, field: StructField) -> Any:
    if isinstance(struct, Slot):
        if field is StructField.TENSOR_ADDR:
            return Slot(struct.fields, struct.at + index, struct.size_bytes)
        return struct.get(index, field)
    if isinstance(struct, Pointer) and field is StructField.INT64_ELEMENT:
        return struct.data[struct.offset + index]
    if isinstance(struct, np.ndarray):
        return _of_array(struct, field)
    if isinstance(struct, (list, tuple)):
        return _of_argument(struct[index], field)
    raise _no_structure(struct)


def _no_structure(struct: Any) -> InterpreterError:
    return InterpreterError(
        message(
            "use a structure in C's convention",
            found=f"a {type(struct).__name__}",
            legal="what tvm_stack_alloca made, an array, or a list of arguments",
        )
    )


def _of_array(array: Any, field: StructField) -> Any:
    """A field of the DLTensor of an array."""
    dtype = DataType(array.dtype)
    known: dict[StructField, Callable[[], Any]] = {
        StructField.TENSOR_ADDR: lambda: array,
        StructField.TENSOR_DATA: lambda: run_of_memory(array),
        StructField.TENSOR_SHAPE: lambda: Pointer(np.array(array.shape, np.int64)),
        StructField.TENSOR_STRIDES: lambda: Pointer(np.array(element_strides(array), np.int64)),
        StructField.TENSOR_NDIM: lambda: array.ndim,
        StructField.TENSOR_TYPE_CODE: lambda: dtype.type_code,
        StructField.TENSOR_TYPE_BITS: lambda: dtype.bits,
        StructField.TENSOR_TYPE_LANES: lambda: dtype.lanes,
        StructField.TENSOR_BYTE_OFFSET: lambda: 0,
        StructField.TENSOR_DEVICE_ID: lambda: 0,
        StructField.TENSOR_DEVICE_TYPE: lambda: 1,
    }
    if field not in known:
        raise _no_structure(array)
    return known[field]()


def _of_argument(value: Any, field: StructField) -> Any:
    """A field of the TVMFFIAny of a value."""
    if field is StructField.ANY_UNION_VALUE:
        return value
    if field is StructField.ANY_ZERO_PADDING:
        return 0
    return _type_index(value)


def _type_index(value: Any) -> int:
    kinds: tuple[tuple[Any, TypeIndex], ...] = (
        (type(None), TypeIndex.NONE), ((bool, np.bool_), TypeIndex.BOOL),
        ((int, np.integer), TypeIndex.INT), ((float, np.floating), TypeIndex.FLOAT),
        (np.ndarray, TypeIndex.DLTENSOR_PTR), (str, TypeIndex.RAW_STR),
    )  # fmt: skip
    return next((int(i) for kind, i in kinds if isinstance(value, kind)), TypeIndex.OPAQUE_PTR)


# --- calls ---


def registered(name: str) -> Any:
    """A registered function; what it is given as tensors is then of our class."""
    importlib.import_module("tvm.runtime._tensor")
    return get_global_func(name)


def _argument(stack: Slot, index: int) -> Any:
    """A value of the TVMFFIAny at an address, as Python functions take it."""
    value = stack.get(index, StructField.ANY_UNION_VALUE)
    kind = int(stack.get(index, StructField.ANY_TYPE_INDEX))
    if kind == TypeIndex.DLTENSOR_PTR:
        return _as_array(value) if isinstance(value, Slot) else value
    if kind == TypeIndex.BOOL:
        return bool(value)
    if kind == TypeIndex.NONE:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _as_array(slot: Slot) -> Any:
    """The array of a DLTensor on the stack."""
    count = int(slot.get(0, StructField.TENSOR_NDIM))
    bits, lanes = (int(slot.get(0, field)) for field in _TENSOR_CODES)
    dtype = _dtype(int(slot.get(0, StructField.TENSOR_TYPE_CODE)), bits, lanes)
    shape = _numbers(slot.get(0, StructField.TENSOR_SHAPE), count)
    strides = slot.fields.get((slot.at, StructField.TENSOR_STRIDES))
    steps = _numbers(strides, count) if isinstance(strides, (Slot, Pointer)) else []
    offset = int(slot.get(0, StructField.TENSOR_BYTE_OFFSET))
    data: Pointer = slot.get(0, StructField.TENSOR_DATA).typed(numpy_dtype(dtype))
    return buffer_view("argument", dtype, data.moved_bytes(offset), shape, steps, 0)


def _dtype(code: int, bits: int, lanes: int) -> DataType:
    plain = {0: f"int{bits}", 1: f"uint{bits}", 2: f"float{bits}", 4: f"bfloat{bits}", 6: "bool"}
    if code in plain:
        return DataType(plain[code]).with_lanes(lanes)
    found = narrow_float_of(code)
    if found is None:
        raise InterpreterError(f"a tensor of type code {code} on the stack")
    return DataType(found).with_lanes(lanes)


def _numbers(struct: Any, count: int) -> list[int]:
    return [int(_field(struct, i, StructField.INT64_ELEMENT)) for i in range(count)]


def call_packed_lowered(compiler: Any, op: e.Call) -> Code:
    """`(name, stack, begin, end)`: arguments lie from begin on, the result goes to end."""
    name, dtype = op.args[0], op.dtype
    assert isinstance(name, e.StringImm), "packed calls name their function"
    stack, begin, end = (compiler.compile(a) for a in op.args[1:4])
    own = compiler.program.symbols.get(name.value.removeprefix("__tvm_ffi_"))
    traced = op.op is Op.get("tir.tvm_call_trace_packed_lowered")

    def run(frame: Frame) -> Value:
        slot, first, last = stack(frame), int(begin(frame)), int(end(frame))
        args = [_argument(slot, i) for i in range(first, last)]
        if own is not None:
            result = compiler.program.function(own).call(args)
        else:
            result = registered(name.value)(*args)
        if result is None and traced:
            result = args[-1]
        slot.fields[last, StructField.ANY_TYPE_INDEX] = _type_index(result)
        slot.fields[last, StructField.ANY_UNION_VALUE] = result
        if result is None or dtype.is_void:
            return np.int32(0)
        return result if dtype.is_handle else numpy_dtype(dtype).type(result)

    return run


# --- C functions of the runtime ---


def _tensor_new(args: Sequence[Any]) -> None:
    """`(shape, dimensions, type code, bits, lanes, name, result)`: a tensor, its values not set."""
    shape, count, code, bits, lanes, _, result = args
    dtype, dims = _dtype(int(code), int(bits), int(lanes)), _numbers(shape, int(count))
    memory = allocate(dtype, int(np.prod(dims, dtype=np.int64)))
    _set_any(result, buffer_view("result", dtype, memory, dims, [], 0))


def _array_new(args: Sequence[Any]) -> None:
    """`(values, count, result)`: the values as one."""
    values, count, result = args
    _set_any(result, [_argument(values, i) for i in range(int(count))])


def _set_any(result: Slot, value: Any) -> None:
    result.fields[result.at, StructField.ANY_TYPE_INDEX] = _type_index(value)
    result.fields[result.at, StructField.ANY_UNION_VALUE] = value


def _clock(args: Sequence[Any]) -> None:
    """Time stands still here, so that runs can be compared."""
    args[1].data[args[1].offset : args[1].offset + 2] = 0


RUNTIME: Final[dict[str, Callable[[Sequence[Any]], None]]] = {
    "tvm_rt_tensor_new": _tensor_new,
    "tvm_rt_array_new": _array_new,
    "clock_gettime": _clock,
    "TVMFFIObjectDecRef": lambda args: None,
}


def parallel_launch(compiler: Any, op: e.Call) -> Code:
    """`(task, closure, count)`: the tasks run one after the other."""
    task, program = op.args[0], compiler.program
    assert isinstance(task, e.StringImm), "a launch names its task"
    closure, count = (compiler.compile(a) for a in op.args[1:])

    def run(frame: Frame) -> Value:
        tasks = min(int(count(frame)), _TASKS)
        env = Slot({(0, StructField.PARALLEL_TASKS): np.int32(tasks)})
        for number in range(tasks):
            program.function(GlobalVar(task.value)).call([number, env, closure(frame)])
        return np.int32(0)

    return run


def throw_last_error(compiler: Any, op: e.Call) -> Code:
    """The error of a call that failed; calls here raise theirs at once."""

    def run(frame: Frame) -> Value:
        raise InterpreterError(
            message(
                "throw the last error of a call",
                found="no call that has failed",
                legal="tvm_throw_last_error after one that has",
            )
        )

    return run


def _workspace(compiler: Any, op: e.Call) -> Code:
    """`(device type, device id, bytes, type code, type bits)`."""
    count = compiler.compile(op.args[2])
    return lambda frame: Pointer(np.full(int(count(frame)), 0x5A, np.uint8))


def _nothing(compiler: Any, op: e.Call) -> Code:
    codes: Sequence[Code] = [compiler.compile(a) for a in op.args]

    def run(frame: Frame) -> Value:
        for code in codes:
            code(frame)
        return np.int32(0)

    return run


IN_C: Final[dict[str, Callable[[Any, e.Call], Code]]] = {
    "tir.tvm_stack_alloca": stack_alloca,
    "tir.tvm_struct_get": struct_get,
    "tir.tvm_struct_set": struct_set,
    "tir.tvm_call_packed_lowered": call_packed_lowered,
    "tir.tvm_call_cpacked_lowered": call_packed_lowered,
    "tir.tvm_call_trace_packed_lowered": call_packed_lowered,
    "tir.parallel_launch": parallel_launch,
    "tir.tvm_throw_last_error": throw_last_error,
    "tir.TVMBackendAllocWorkspace": _workspace,
    "tir.TVMBackendFreeWorkspace": _nothing,
}
