"""A module of one matmul with what usually follows it: bias, activation, residual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Var, const
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
            result = _product(bb, x, y, out_dtype, transposed_y)
            if bias_shape is not None:
                result = op.add(bb.emit(result), params[2])
            if activation is not None:
                result = activation(bb.emit(result))
            if residual_bin_op is not None:
                result = residual_bin_op(bb.emit(result), x)
                if residual_activation is not None:
                    result = residual_activation(bb.emit(result))
            output = bb.emit_output(result)
        bb.emit_func_output(output)
    return bb.get()


def get_relax_matmul_dequantize_module(
    x_shape: Sequence[Any],
    y_shape: Sequence[Any],
    in_dtype: str,
    out_dtype: str,
    transposed_y: bool = False,
    scale_const: float = 1.0,
    zero_point_const: float = 0.0,
) -> IRModule:
    """`main(x, y)`: x @ y in float32, then `dequantize` with a constant scale and zero point."""
    x = Var("x", TensorStructInfo(x_shape, in_dtype))
    y = Var("y", TensorStructInfo(y_shape, in_dtype))
    bb = BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            product = bb.emit(_product(bb, x, y, "float32", transposed_y))
            scale, zero = const(scale_const, "float16"), const(zero_point_const, "float16")
            output = bb.emit_output(
                op.dequantize(product, scale, zero, axis=-1, out_dtype=out_dtype)
            )
        bb.emit_func_output(output)
    return bb.get()


def get_relax_matmul_multiply_module(
    x_shape: Sequence[Any],
    y_shape: Sequence[Any],
    z_shape: Sequence[Any],
    in_dtype: str,
    acc_dtype: str,
    out_dtype: str,
    transposed_y: bool = False,
) -> IRModule:
    """`main(x, y, z)`: (x @ y) * z in `acc_dtype`, given as `out_dtype`."""
    x = Var("x", TensorStructInfo(x_shape, in_dtype))
    y = Var("y", TensorStructInfo(y_shape, in_dtype))
    z = Var("z", TensorStructInfo(z_shape, acc_dtype))
    bb = BlockBuilder()
    with bb.function("main", [x, y, z]):
        with bb.dataflow():
            product = bb.emit(_product(bb, x, y, acc_dtype, transposed_y))
            result = op.multiply(product, z)
            if acc_dtype != out_dtype:
                result = op.astype(bb.emit(result), out_dtype)
            output = bb.emit_output(result)
        bb.emit_func_output(output)
    return bb.get()


def _product(
    bb: BlockBuilder, x: Var, y: Var, out_dtype: str | None, transposed_y: bool
) -> RelaxExpr:
    right: RelaxExpr = y
    if transposed_y:
        info = y.struct_info
        assert isinstance(info, TensorStructInfo), "made by the callers"
        right = bb.emit(op.permute_dims(y, axes=[*range(info.ndim - 2), -1, -2]))
    return op.matmul(x, right, out_dtype=out_dtype)


__all__ = [
    "get_relax_matmul_dequantize_module", "get_relax_matmul_module",
    "get_relax_matmul_multiply_module",
]  # fmt: skip
