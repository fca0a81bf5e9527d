"""Operators that the compiler itself puts in."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import StructInfo
from tvm.relax.expr import Call, ExprLike
from tvm.relax.op.declare import Infer, relax_op
from tvm.relax.op.memory.memory import as_dtype, as_prim, as_string, shaped_tensor


@relax_op(
    "relax.builtin.alloc_tensor",
    "shape: Shape, dtype: Expr, runtime_device_index: Prim, storage_scope: Expr",
)
def alloc_tensor(
    shape: ExprLike, dtype: Any, runtime_device_index: Any, storage_scope: Any = "global"
) -> Call:
    """A new tensor; the memory planner decides where it lies."""
    return alloc_tensor.call(
        shape, as_dtype(dtype), as_prim(runtime_device_index), as_string(storage_scope)
    )


@alloc_tensor.infer
def _alloc_tensor_info(ctx: Infer, *operands: StructInfo) -> StructInfo:
    return shaped_tensor(ctx, ctx.call.args[0], ctx.call.args[1])


@relax_op("relax.builtin.stop_lift_params", "x: Expr", reads_shape_variables=True)
def stop_lift_params(x: ExprLike) -> Call:
    """The value itself; what leads to it is not moved out of the function."""
    return stop_lift_params.call(x)


stop_lift_params.infer(lambda ctx, x: x)
stop_lift_params.reference(lambda x: x)
stop_lift_params.legalize(lambda bb, x: x)
