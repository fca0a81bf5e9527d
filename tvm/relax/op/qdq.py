"""Numbers as integers with a scale and a zero point, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import VOID, TensorStructInfo
from tvm.support.dtype import DataType
from tvm.tir import op as tir_op
from tvm.tir.expr import make_const

from . import layout_moves
from .declare import (
    ELEMENTWISE,
    Array,
    Expr,
    Infer,
    attrs_class,
    relax_op,
    show_shape,
    te,
    whole,
)
from .shapes import axis_index, with_dtype

QuantizeAttrs = attrs_class("QuantizeAttrs", "out_dtype", "axis")
INTS = ("int8", "uint8", "int16", "uint16")
FLOATS8 = ("float8_e4m3fn", "float8_e5m2")
SCALES = ("float16", "float32")
ZERO_POINTS = (*INTS, "int32", "uint32", "float16")


@relax_op("relax.quantize", "data: Tensor, scale: Tensor, zero_point: Tensor", QuantizeAttrs,
          pattern=ELEMENTWISE)  # fmt: skip
def quantize(
    data: ExprLike, scale: ExprLike, zero_point: ExprLike, axis: int = -1, out_dtype: str = "int8"
) -> Call:
    """round(data / scale) + zero_point, kept within the range of `out_dtype`.

    scale and zero_point are scalars, or have one number for each index of `axis`.
    """
    return quantize.call(data, scale, zero_point, out_dtype=DataType(out_dtype), axis=whole(axis))


@relax_op("relax.dequantize", "data: Tensor, scale: Tensor, zero_point: Tensor", QuantizeAttrs,
          pattern=ELEMENTWISE)  # fmt: skip
def dequantize(
    data: ExprLike,
    scale: ExprLike,
    zero_point: ExprLike,
    axis: int = -1,
    out_dtype: str = "float32",
) -> Call:
    """(data - zero_point) * scale."""
    return dequantize.call(data, scale, zero_point, out_dtype=DataType(out_dtype), axis=whole(axis))


def _check_parameters(
    ctx: Infer,
    data: TensorStructInfo,
    axis: int,
    scale: TensorStructInfo,
    zero_point: TensorStructInfo,
) -> None:
    parameters = (("scale", scale, SCALES), ("zero_point", zero_point, ZERO_POINTS))
    at = axis if data.ndim in (-1, 0) else axis_index(ctx, axis, data.ndim)
    for name, info, legal in parameters:
        if info.dtype is not VOID and info.dtype not in legal:
            raise ctx.dtype_error(f"{name} has an unknown dtype", str(info.dtype), ", ".join(legal))
        if info.ndim not in (-1, 0, 1):
            raise ctx.shape_error(f"{name} must be a scalar or a vector", f"{info.ndim}", "0 or 1")
        if info.ndim == 1 and data.ndim == 0:
            raise ctx.shape_error(f"{name} has an axis, data has none", show_shape(info), "()")
        if info.ndim != 1 or info.values is None or not data.values:
            continue
        if ctx.differ(info.values[0], data.values[at]):
            raise ctx.shape_error(
                f"{name} does not fit data along axis {axis}",
                f"{name} {show_shape(info)}, data {show_shape(data)}",
            )


@quantize.infer
def _quantize_info(
    ctx: Infer,
    data: TensorStructInfo,
    scale: TensorStructInfo,
    zero_point: TensorStructInfo,
    *,
    out_dtype: DataType,
    axis: int,
) -> TensorStructInfo:
    if out_dtype not in (*INTS, *FLOATS8):
        raise ctx.dtype_error("unknown out_dtype", f"{out_dtype}", ", ".join((*INTS, *FLOATS8)))
    if data.dtype is not VOID and data.dtype not in ("float16", "float32"):
        raise ctx.dtype_error("data must be float", f"{data.dtype}", "float16, float32")
    _check_parameters(ctx, data, axis, scale, zero_point)
    return with_dtype(data, out_dtype)


@dequantize.infer
def _dequantize_info(
    ctx: Infer,
    data: TensorStructInfo,
    scale: TensorStructInfo,
    zero_point: TensorStructInfo,
    *,
    out_dtype: DataType,
    axis: int,
) -> TensorStructInfo:
    if out_dtype not in ("float16", "float32"):
        raise ctx.dtype_error("unknown out_dtype", f"{out_dtype}", "float16, float32")
    legal = (*INTS, *FLOATS8, "int32", "float16", "float32")
    if data.dtype is not VOID and data.dtype not in legal:
        raise ctx.dtype_error("data has an unknown dtype", str(data.dtype), ", ".join(legal))
    _check_parameters(ctx, data, axis, scale, zero_point)
    return with_dtype(data, out_dtype)


def _along(parameter: Any, index: tuple[Any, ...], axis: int) -> Any:
    """The number of a parameter for an element of data."""
    if isinstance(parameter, PrimExpr):
        return parameter
    return parameter[index[axis % len(index)]] if len(parameter.shape) == 1 else parameter()


def _number(parameter: Expr) -> Any:
    """A constant of one element as a number of the kernel; anything else as it is."""
    if not isinstance(parameter, Constant) or parameter.data.numpy().size != 1:
        return parameter
    tensor = parameter.data.numpy()
    return make_const(tensor.reshape(()).item(), DataType(str(tensor.dtype)))


def clip_cast(val: Any, dtype: str) -> PrimExpr:
    """The value brought into the range of `dtype`, and cast to it."""
    low, high = tir_op.min_value(dtype), tir_op.max_value(dtype)
    kept = tir_op.max(tir_op.min(val, high.astype(val.dtype)), low.astype(val.dtype))
    result: PrimExpr = kept.astype(dtype)
    return result


@quantize.legalize
def _quantize_te(
    bb: BlockBuilder, data: Expr, scale: Expr, zero_point: Expr, *, out_dtype: DataType, axis: int
) -> Expr:

    def compute(x: Any, s: Any, z: Any) -> Any:
        def element(*index: Any) -> Any:
            value = x(*index) / _along(s, index, axis)
            rounded = tir_op.round(value) if out_dtype in INTS else value
            moved = rounded + _along(z, index, axis).astype(x.dtype)
            return clip_cast(moved, str(out_dtype))

        return te.compute(x.shape, element, name="quantized")

    numbers = (_number(scale), _number(zero_point))
    return bb.call_te(compute, data, *numbers, primfunc_name_hint="quantize")


@dequantize.legalize
def _dequantize_te(
    bb: BlockBuilder, data: Expr, scale: Expr, zero_point: Expr, *, out_dtype: DataType, axis: int
) -> Expr:
    wide = "int32" if str(getattr(data.struct_info, "dtype", "")) in (*INTS, "int32") else "float32"

    def compute(x: Any, s: Any, z: Any) -> Any:
        def element(*index: Any) -> Any:
            moved = x(*index).astype(wide) - _along(z, index, axis).astype(wide)
            value = moved.astype("float32") * _along(s, index, axis).astype("float32")
            return value if out_dtype == "float32" else clip_cast(value, str(out_dtype))

        return te.compute(x.shape, element, name="dequantized")

    numbers = (_number(scale), _number(zero_point))
    return bb.call_te(compute, data, *numbers, primfunc_name_hint="dequantize")


def _broadcast(parameter: Array, ndim: int, axis: int) -> Array:
    if parameter.ndim == 0 or ndim == 0:
        return parameter
    shape = [1] * ndim
    shape[axis] = parameter.shape[0]
    return parameter.reshape(shape)


@quantize.reference
def _quantize_numpy(
    data: Array, scale: Array, zero_point: Array, *, out_dtype: DataType, axis: int
) -> Array:
    x = data.astype(np.float32) / _broadcast(scale.astype(np.float32), data.ndim, axis)
    kind = numpy_dtype(out_dtype)
    z = _broadcast(zero_point.astype(np.float32), data.ndim, axis)
    if out_dtype in INTS:
        limits = np.iinfo(kind)
        return np.clip(np.round(x) + z, limits.min, limits.max).astype(kind)
    largest = 448.0 if out_dtype == "float8_e4m3fn" else 57344.0
    return np.clip(x + z, -largest, largest).astype(kind)


@dequantize.reference
def _dequantize_numpy(
    data: Array, scale: Array, zero_point: Array, *, out_dtype: DataType, axis: int
) -> Array:
    x = data.astype(np.float32) - _broadcast(zero_point.astype(np.float32), data.ndim, axis)
    factor = _broadcast(scale.astype(np.float32), data.ndim, axis)
    return (x * factor).astype(numpy_dtype(out_dtype))


for _declared in (quantize, dequantize):
    _declared.follow_layout(layout_moves.quantized)
