"""Storage and tensors in it, as the memory planner writes them."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import StructInfo
from tvm.relax.expr import Call, DataTypeImm, ExprLike, PrimValue, StringImm
from tvm.relax.op.base import VOID_RESULT
from tvm.relax.op.declare import Expr, Infer, relax_op
from tvm.relax.struct_info import ObjectStructInfo, ShapeStructInfo, TensorStructInfo


def as_prim(value: Any) -> Expr:
    """A number as an expression."""
    return value if isinstance(value, Expr) else PrimValue(value)


def as_string(value: Any) -> Expr:
    """A string as an expression."""
    return value if isinstance(value, Expr) else StringImm(value)


def as_dtype(value: Any) -> Expr:
    """A data type as an expression."""
    return value if isinstance(value, Expr) else DataTypeImm(value)


def shaped_tensor(ctx: Infer, shape: Expr, dtype: Expr) -> TensorStructInfo:
    """The tensor of a shape operand, which may be a variable, and a data type operand."""
    if not isinstance(dtype, DataTypeImm):
        raise ctx.error("the dtype is no data type", f"{dtype}", "a DataTypeImm")
    info = shape.struct_info
    if not isinstance(info, ShapeStructInfo):
        raise ctx.error("the shape is no shape", f"{shape} with struct info {info}", "a shape")
    return TensorStructInfo(shape, dtype.value)


@relax_op(
    "relax.memory.alloc_storage",
    "total_space: Expr, virtual_device_index: Prim, storage_scope: Expr, dtype: Expr",
)
def alloc_storage(
    size: ExprLike, virtual_device_index: Any, storage_scope: Any, dtype: Any
) -> Call:
    """Memory of so many bytes."""
    return alloc_storage.call(
        size, as_prim(virtual_device_index), as_string(storage_scope), as_dtype(dtype)
    )


@alloc_storage.infer
def _alloc_storage_info(ctx: Infer, *operands: StructInfo) -> StructInfo:
    return ObjectStructInfo()


@relax_op(
    "relax.memory.alloc_tensor", "storage: Expr, offset: Prim, shape: Shape, dtype: Expr"
)
def alloc_tensor(storage: ExprLike, offset: Any, shape: ExprLike, dtype: Any) -> Call:
    """A tensor in storage, `offset` bytes from its start."""
    return alloc_tensor.call(storage, as_prim(offset), shape, as_dtype(dtype))


@alloc_tensor.infer
def _alloc_tensor_info(ctx: Infer, *operands: StructInfo) -> StructInfo:
    return shaped_tensor(ctx, ctx.call.args[2], ctx.call.args[3])


@relax_op("relax.memory.kill_storage", "storage: Expr", pure=False)
def kill_storage(storage: ExprLike) -> Call:
    """The storage is not used any more."""
    return kill_storage.call(storage)


@relax_op("relax.memory.kill_tensor", "tensor: Expr", pure=False)
def kill_tensor(tensor: ExprLike) -> Call:
    """The tensor is not used any more."""
    return kill_tensor.call(tensor)


kill_storage.infer(lambda ctx, storage: VOID_RESULT)
kill_tensor.infer(lambda ctx, tensor: VOID_RESULT)

__all__ = [
    "alloc_storage", "alloc_tensor", "as_dtype", "as_prim", "as_string",
    "kill_storage", "kill_tensor", "shaped_tensor",
]  # fmt: skip
