"""Quantised tensors: a real number is scale * (integer - zero point).

Products are sums of integers, exact in 32 bits; rounding is half to even, results saturate.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.struct_info import TensorStructInfo

from .attributes import dtype_name
from .nn import convolution
from .node import Node
from .registry import Result, convert
from .window import with_channel_bias


def _info(value: RelaxExpr) -> TensorStructInfo:
    info = value.struct_info
    assert isinstance(info, TensorStructInfo), "ONNX values are tensors"
    return info


def along_axis(node: Node, value: RelaxExpr, axis: int, rank: int) -> RelaxExpr:
    """A scale or zero point for each index of an axis, in a shape that broadcasts."""
    if _info(value).ndim == rank > 1 and node.attr("block_size", 0):
        return _blocks(node, value, axis % rank, int(node.attr("block_size")))
    if _info(value).ndim != 1 or rank == 0:
        return value
    shape = [1] * rank
    shape[axis % rank] = -1
    if isinstance(value, Constant):
        return Constant(value.data.numpy().reshape(shape))
    return node.bb.emit(op.reshape(value, shape))


def _blocks(node: Node, value: RelaxExpr, axis: int, size: int) -> RelaxExpr:
    """One scale for `size` elements along an axis; the last block may be shorter."""
    extent = node.shape(0)[axis]
    whole = node.bb.emit(op.repeat(value, size, axis))
    return node.bb.emit(op.strided_slice(whole, [axis], [0], [extent]))


def quantised(
    node: Node, real: RelaxExpr, scale: RelaxExpr, zero: RelaxExpr | None, dtype: str
) -> RelaxExpr:
    """Integers of a type, rounded and cut to its range; small floats are cut, and rounded last."""
    if dtype.startswith("float"):
        largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        value = op.divide(real, op.astype(scale, "float32"))
        cut = op.clip(value, -largest, largest)
        return node.bb.emit(op.astype(node.bb.emit(cut), dtype))
    rounded = op.round(op.divide(real, op.astype(scale, "float32")))
    if zero is not None:
        rounded = op.add(rounded, op.astype(zero, "float32"))
    limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    cut = op.clip(rounded, float(limits.min), float(limits.max))
    return node.bb.emit(op.astype(cut, dtype))


def centred(node: Node, i: int, zero: int, axis: int | None = None) -> RelaxExpr:
    """An integer input without its zero point (another input), in 32 bits."""
    value = op.astype(node[i], "int32")
    point = node.optional(zero)
    if point is None:
        return node.bb.emit(value)
    if axis is not None:
        point = along_axis(node, point, axis, node.rank(i))
    return node.bb.emit(op.subtract(value, op.astype(point, "int32")))


@convert("QuantizeLinear")
def quantize_linear(node: Node) -> Result:
    """x / scale + zero point; for each index of `axis`, if there are several scales."""
    axis, rank = int(node.attr("axis", 1)), node.rank(0)
    zero = node.optional(2)
    named = dtype_name(int(node.attr("output_dtype", 0)))
    dtype = named or ("uint8" if zero is None else str(_info(zero).dtype))
    scale = along_axis(node, node[1], axis, rank)
    zero = None if zero is None else along_axis(node, zero, axis, rank)
    return quantised(node, op.astype(node[0], "float32"), scale, zero, dtype)


@convert("DequantizeLinear")
def dequantize_linear(node: Node) -> Result:
    """(x - zero point) * scale."""
    axis, rank = int(node.attr("axis", 1)), node.rank(0)
    scale = along_axis(node, node[1], axis, rank)
    dtype = str(_info(node[1]).dtype)
    if node.dtype(0).startswith("float"):  # of 8 or 4 bits, whose zero point is 0
        return op.multiply(op.astype(node[0], dtype), scale)
    return op.multiply(op.astype(centred(node, 0, 2, axis), dtype), scale)


@convert("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> Result:
    return [*dynamically_quantised(node)]


def dynamically_quantised(node: Node) -> tuple[RelaxExpr, RelaxExpr, RelaxExpr]:
    """As uint8, with a scale and a zero point such that 0 is exact and the range is used."""
    zero = Constant(np.float32(0))
    low = node.bb.emit(op.minimum(op.min(node[0]), zero))
    high = node.bb.emit(op.maximum(op.max(node[0]), zero))
    steps = op.divide(op.subtract(high, low), Constant(np.float32(255)))
    # of zeros alone: 0 / 1, no 0 / 0
    scale = node.bb.emit(op.where(op.less(low, high), steps, Constant(np.float32(1))))
    point = quantised(node, op.negative(low), scale, None, "uint8")
    return quantised(node, node[0], scale, point, "uint8"), scale, point


@convert("MatMulInteger")
def matmul_integer(node: Node) -> Result:
    a = centred(node, 0, 2, node.rank(0) - 2 if node.rank(0) > 1 else None)
    return op.matmul(a, centred(node, 1, 3, node.rank(1) - 1))


@convert("QLinearMatMul")
def qlinear_matmul(node: Node) -> Result:
    a = centred(node, 0, 2, max(node.rank(0) - 2, 0))
    product = op.matmul(a, centred(node, 3, 5, node.rank(3) - 1))
    rank = max(node.rank(0), node.rank(3))
    rows = along_axis(node, node[1], rank - 2, rank)
    columns = along_axis(node, node[4], rank - 1, rank)
    scale = op.multiply(op.astype(rows, "float32"), op.astype(columns, "float32"))
    return _scaled_back(node, product, scale, 6, 7)


def _scaled_back(
    node: Node, sums: RelaxExpr, scale: RelaxExpr, out_scale: int, out_zero: int
) -> RelaxExpr:
    """Sums of products as integers of the output's scale."""
    ratio = node.bb.emit(op.divide(scale, op.astype(node[out_scale], "float32")))
    real = op.multiply(op.astype(sums, "float32"), ratio)
    one = Constant(np.float32(1))
    return quantised(node, real, one, node[out_zero], node.dtype(out_zero))


@convert("ConvInteger")
def conv_integer(node: Node) -> Result:
    return convolution(node, centred(node, 0, 2), centred(node, 1, 3, 0), 1)


@convert("QLinearConv")
def qlinear_conv(node: Node) -> Result:
    rank = node.rank(0)
    x, w = centred(node, 0, 2), centred(node, 3, 5, 0)
    sums = with_channel_bias(node.bb.emit(convolution(node, x, w, 3)), node.optional(8), rank)
    scale: Any = op.multiply(node[1], along_axis(node, node[4], 1, rank))
    return _scaled_back(node, sums, scale, 6, 7)
