"""A module of one matmul with what usually follows it: bias, activation, residual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Var
from tvm.relax.struct_info import TensorStructInfo


def get_relax_matmul_module(
    x_shape: Sequence[Any],
    y_shape: Sequence[Any],
    in_dtype: str,
    out_dtype: str | None = None,
    transposed_y: bool = False,
    bias_shape: Sequence[Any] | None = None,
    activation: Callable[[Any], Any] | None = None,
    residual_bin_op: Callable[[Any, Any], Any] | None = None,
    residual_activation: Callable[[Any], Any] | None = None,
) -> IRModule:
    """`main(x, y, bias?)`: residual_activation(residual_bin_op(activation(x @ y + bias), x))."""
    x = Var("x", TensorStructInfo(x_shape, in_dtype))
    y = Var("y", TensorStructInfo(y_shape, in_dtype))
    params = [x, y]
    if bias_shape is not None:
        params.append(Var("bias", TensorStructInfo(bias_shape, out_dtype or in_dtype)))
    bb = BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            right = y
            if transposed_y:
                swapped = [*range(len(y_shape) - 2), len(y_shape) - 1, len(y_shape) - 2]
                right = bb.emit(op.permute_dims(y, axes=swapped))
            result = bb.emit(op.matmul(x, right, out_dtype=out_dtype))
            if bias_shape is not None:
                result = bb.emit(op.add(result, params[2]))
            if activation is not None:
                result = bb.emit(activation(result))
            if residual_bin_op is not None:
                result = bb.emit(residual_bin_op(result, x))
                if residual_activation is not None:
                    result = bb.emit(residual_activation(result))
            output = bb.emit_output(result)
        bb.emit_func_output(output)
    return bb.get()


__all__ = ["get_relax_matmul_module"]
