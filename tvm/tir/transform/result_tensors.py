"""Functions that make their results: the last buffers of a packed function are new tensors.

A function with the attribute `tir.num_results = k` is called without its last k parameters. Their
tensors are made at entry, with the shapes that the other arguments give, and returned: one as
itself, several as an array (and one, if `tir.results_in_array` says so). If the body fails, they
are given up (`ON_FAILURE`).

    __tvm_ffi_main(x)  ->  shape = (n, 10); tvm_rt_tensor_new(shape, ..., result); body
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import TENSOR_OBJECT_HEADER_BYTES, StructField

from .lower_workspaces import ON_FAILURE

ATTRIBUTE = "tir.num_results"
# Whether the results come in an array, however many there are: of a tuple of one
IN_ARRAY = "tir.results_in_array"
HANDLE = DataType("handle")


def result_count(func: PrimFunc) -> int:
    """How many of the last parameters are results."""
    count = func.attrs.get(ATTRIBUTE)
    return 0 if count is None else int(count)  # type: ignore[call-overload]


def with_results(func: PrimFunc, result: e.Var, body: s.Stmt) -> s.Stmt:
    """The body with its result buffers made before, and returned after."""
    params = func.params[len(func.params) - result_count(func) :]
    buffers = [func.buffer_map[param] for param in params]
    if not buffers:
        return body
    if len(buffers) == 1 and not func.attrs.get(IN_ARRAY):
        return _made(buffers[0], result, 0, body)
    slots = e.Var("results", HANDLE)
    body = s.SeqStmt.flatten(body, _returned(slots, len(buffers), result))
    for i, buffer in reversed(list(enumerate(buffers))):
        body = _made(buffer, slots, i, body)
    return s.LetStmt(slots, builtin.tvm_stack_alloca("tvm_ffi_any", len(buffers)), body)


def _set(struct: PrimExpr, index: int, what: StructField, value: PrimExpr) -> s.Stmt:
    return s.Evaluate(builtin.tvm_struct_set(struct, index, int(what), value))


def _checked(status: PrimExpr) -> s.Stmt:
    """End the function with the runtime's error unless the status is zero."""
    failed = ops.not_equal(status, 0)
    return s.IfThenElse(failed, s.Evaluate(builtin.tvm_throw_last_error()))


def _made(buffer: Buffer, slots: e.Var, index: int, body: s.Stmt) -> s.Stmt:
    """Make the tensor in slot number `index`; the body sees its memory as the buffer's."""
    shape = e.Var(f"{buffer.name}_shape", HANDLE)
    dtype = buffer.dtype
    slot: PrimExpr = slots
    if index:
        slot = builtin.handle_add_byte_offset(slots, ops.const(16 * index, "int64"))
    make = builtin.call_extern(
        "int32", "tvm_rt_tensor_new", shape, len(buffer.shape), dtype.type_code, dtype.bits,
        dtype.lanes, f"{buffer.name} of {dtype}", slot,
    )  # fmt: skip
    handle = builtin.tvm_struct_get(slots, index, int(StructField.ANY_UNION_VALUE), HANDLE)
    tensor = builtin.handle_add_byte_offset(handle, ops.const(TENSOR_OBJECT_HEADER_BYTES, "int64"))
    data = builtin.tvm_struct_get(tensor, 0, int(StructField.TENSOR_DATA), HANDLE)
    typed = builtin.reinterpret(HANDLE, data) if buffer.data.dtype is not HANDLE else data
    extents = [
        _set(shape, i, StructField.INT64_ELEMENT, ops.cast(extent, "int64"))
        for i, extent in enumerate(buffer.shape)
    ]
    drop = builtin.tvm_tuple(
        builtin.call_extern("int32", "TVMFFIObjectDecRef", handle),
        builtin.tvm_struct_set(slots, index, int(StructField.ANY_TYPE_INDEX), 0),
    )
    held = s.AttrStmt(
        e.StringImm(buffer.name), ON_FAILURE, drop, s.LetStmt(buffer.data, typed, body)
    )
    inner = s.SeqStmt.flatten(extents, _checked(make), held)
    room = builtin.tvm_stack_alloca("shape", max(1, len(buffer.shape)))
    return s.LetStmt(shape, room, inner)


def _returned(slots: e.Var, count: int, result: e.Var) -> s.Stmt:
    """Put all tensors into an array, which keeps them, and give up our own hold of each."""
    pack = builtin.call_extern("int32", "tvm_rt_array_new", slots, count, result)
    drops = []
    for i in range(count):
        handle = builtin.tvm_struct_get(slots, i, int(StructField.ANY_UNION_VALUE), HANDLE)
        drops.append(s.Evaluate(builtin.call_extern("int32", "TVMFFIObjectDecRef", handle)))
    return s.SeqStmt.flatten(_checked(pack), drops)
