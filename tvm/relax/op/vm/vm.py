"""Operators of the virtual machine, to which others are lowered."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import StructInfo
from tvm.relax.expr import Call, ExprLike, Tuple
from tvm.relax.op.base import VOID_RESULT
from tvm.relax.op.declare import Infer, relax_op
from tvm.relax.op.memory.memory import as_dtype, as_prim, as_string, shaped_tensor
from tvm.relax.op.shapes import like
from tvm.relax.struct_info import ObjectStructInfo, ShapeExpr


@relax_op(
    "relax.vm.alloc_storage",
    "size: Shape, runtime_device_index: Prim, dtype: Expr, storage_scope: Expr",
)
def alloc_storage(
    shape: ExprLike, runtime_device_index: Any, dtype: Any, storage_scope: Any = "global"
) -> Call:
    """Memory for a tensor of this shape and dtype."""
    return alloc_storage.call(
        shape, as_prim(runtime_device_index), as_dtype(dtype), as_string(storage_scope)
    )


@alloc_storage.infer
def _alloc_storage_info(ctx: Infer, *operands: StructInfo) -> StructInfo:
    return ObjectStructInfo()


@relax_op("relax.vm.alloc_tensor", "storage: Expr, offset: Prim, shape: Shape, dtype: Expr")
def alloc_tensor(storage: ExprLike, offset: Any, shape: ExprLike, dtype: Any) -> Call:
    """A tensor in storage, `offset` bytes from its start."""
    return alloc_tensor.call(storage, as_prim(offset), shape, as_dtype(dtype))


@alloc_tensor.infer
def _alloc_tensor_info(ctx: Infer, *operands: StructInfo) -> StructInfo:
    info = shaped_tensor(ctx, ctx.call.args[2], ctx.call.args[3])
    if isinstance(info.shape, ShapeExpr):
        return info
    return like(info, info.values, info.ndim)  # below, no tensor has a variable for its shape


@relax_op("relax.vm.kill_object", "obj: Expr", pure=False)
def kill_object(obj: ExprLike) -> Call:
    """The object is not used any more."""
    return kill_object.call(obj)


kill_object.infer(lambda ctx, obj: VOID_RESULT)


@relax_op("relax.vm.call_tir_dyn", "func: Expr, args: Tuple", pure=False)
def call_tir_dyn(func: ExprLike, args: Any) -> Call:
    """Call a TIR function with tensors and, as the last operand, a shape of extra symbols."""
    return call_tir_dyn.call(func, Tuple(args) if isinstance(args, (list, tuple)) else args)


call_tir_dyn.infer(lambda ctx, func, args: VOID_RESULT)
