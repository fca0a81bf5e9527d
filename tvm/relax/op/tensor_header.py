"""Small functions that read one number of a tensor's header while a program runs.

    def _get_tensor_ndim(tensor: T.handle) -> T.int32:
        value: T.int32 = T.tvm_struct_get(tensor, 0, 4, "int32")
        return value

`tensor` is the address of a DLTensor; so these are called with tensors as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField

INT32: Final = DataType("int32")
INT64: Final = DataType("int64")
_FIELDS: Final = {
    "tensor_dtype_code": StructField.TENSOR_TYPE_CODE,
    "tensor_dtype_bits": StructField.TENSOR_TYPE_BITS,
    "tensor_dtype_lanes": StructField.TENSOR_TYPE_LANES,
    "tensor_ndim": StructField.TENSOR_NDIM,
    "tensor_byte_offset": StructField.TENSOR_BYTE_OFFSET,
}


def header_reader(name: str, dtype: DataType) -> PrimFunc:
    """The function that reads what `relax.inspect.<name>` names, as a `dtype`."""
    tensor = e.Var("tensor", "handle")
    params = [tensor]
    if name in _FIELDS:
        body = _give(_field(tensor, _FIELDS[name], dtype))
    elif name == "tensor_elem_offset":
        body = _give(_elem_offset(tensor, dtype))
    else:
        axis = e.Var("axis", INT64)
        params.append(axis)
        body = _of_axis(name, tensor, axis)
    attrs = {"tir.is_scheduled": True, "tir.is_host_func": True}
    return PrimFunc(params, body, PrimType(dtype), None, attrs)


def _field(tensor: e.Var, field: StructField, dtype: DataType | str) -> PrimExpr:
    return builtin.tvm_struct_get(tensor, 0, int(field), dtype)


def _give(value: PrimExpr) -> s.Stmt:
    held = e.Var("value", value.dtype)
    return s.LetStmt(held, value, s.Evaluate(builtin.ret(held)))


def _elem_offset(tensor: e.Var, dtype: DataType) -> PrimExpr:
    """The byte offset in elements; an element takes whole bytes."""
    bits = ops.cast(_field(tensor, StructField.TENSOR_TYPE_BITS, "uint8"), dtype)
    lanes = ops.cast(_field(tensor, StructField.TENSOR_TYPE_LANES, "uint16"), dtype)
    eight = ops.const(8, dtype)
    size = ops.floordiv(ops.add(ops.multiply(bits, lanes), ops.const(7, dtype)), eight)
    return ops.floordiv(_field(tensor, StructField.TENSOR_BYTE_OFFSET, dtype), size)


def _of_axis(name: str, tensor: e.Var, axis: e.Var) -> s.Stmt:
    """An extent or a stride; the axis is a number of the running program."""
    ndim = e.Var("ndim", INT32)
    inside = e.And(ops.greater_equal(axis, 0), ops.less(axis, ops.cast(ndim, INT64)))
    told = e.StringImm(f"{name}: the axis is out of range; legal: 0 <= axis < ndim")
    read = _extent if name == "tensor_shape_i" else _stride
    body = s.AssertStmt(inside, told, read(tensor, axis, ndim))
    return s.LetStmt(ndim, _field(tensor, StructField.TENSOR_NDIM, INT32), body)


def _extent(tensor: e.Var, axis: PrimExpr, ndim: PrimExpr) -> s.Stmt:
    return _over_array(
        tensor, StructField.TENSOR_SHAPE, ndim, lambda shape: _give(e.BufferLoad(shape, [axis]))
    )


def _stride(tensor: e.Var, axis: PrimExpr, ndim: PrimExpr) -> s.Stmt:
    """The stride of the header; a compact tensor may have none, then the extents tell."""

    def written(strides: Buffer) -> s.Stmt:
        missing = builtin.isnullptr(strides.data)
        return s.IfThenElse(missing, computed, _give(e.BufferLoad(strides, [axis])))

    computed = _over_array(
        tensor, StructField.TENSOR_SHAPE, ndim, lambda shape: _compact(shape, axis, ndim)
    )
    return _over_array(tensor, StructField.TENSOR_STRIDES, ndim, written)


def _compact(shape: Buffer, axis: PrimExpr, ndim: PrimExpr) -> s.Stmt:
    """The product of the extents behind the axis."""
    product = decl_buffer((1,), INT64, "stride", scope="local")
    dim = e.Var("dim", INT64)
    behind = ops.add(ops.add(axis, dim), ops.const(1, INT64))
    count = ops.subtract(ops.subtract(ops.cast(ndim, INT64), axis), ops.const(1, INT64))
    step = s.BufferStore(product, ops.multiply(product[0], shape[behind]), [0])
    body = s.SeqStmt.flatten(
        s.BufferStore(product, ops.const(1, INT64), [0]),
        s.For(dim, ops.const(0, INT64), count, s.ForKind.SERIAL, step),
        s.Evaluate(builtin.ret(product[0])),
    )
    body = s.DeclBuffer(product, body)
    return s.Allocate(product.data, INT64, [1], ops.const(True, "bool"), body)


def _over_array(
    tensor: e.Var, field: StructField, count: PrimExpr, body: Callable[[Buffer], s.Stmt]
) -> s.Stmt:
    """`body` of the header's array of 64-bit integers that the field points to."""
    name = field.name.removeprefix("TENSOR_").lower()
    pointer = e.Var(name, PointerType(PrimType(INT64)))
    array = decl_buffer((count,), INT64, name, data=pointer)
    inner = s.DeclBuffer(array, body(array))
    return s.LetStmt(pointer, _field(tensor, field, "handle"), inner)
