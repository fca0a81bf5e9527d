"""Operators of ONNX Runtime's own set on quantised tensors: integers in, integers out.

Each computes with the numbers that its inputs stand for, and rounds once, to the output's scale.
"""

from __future__ import annotations

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .aliases import standard
from .node import Node
from .quantized import along_axis, centred, dynamically_quantised, quantised
from .registry import Result, convert, find_converter

_DOMAIN = "com.microsoft."


def _real(node: Node, at: int, scale: int | None = None) -> RelaxExpr:
    """The numbers of the input `at`, whose scale and zero point follow it."""
    first = at + 1 if scale is None else scale
    whole = op.astype(centred(node, at, first + 1), "float32")
    return node.bb.emit(op.multiply(whole, op.astype(node[first], "float32")))


def _integers(node: Node, value: RelaxExpr, scale: int) -> RelaxExpr:
    """The output's integers; its scale and zero point are inputs, unsigned and 0 by default."""
    zero = node.optional(scale + 1)
    dtype = "uint8" if zero is None else node.dtype(scale + 1)
    return quantised(node, node.bb.emit(value), node[scale], zero, dtype)


@convert(_DOMAIN + "QLinearAdd")
def qlinear_add(node: Node) -> Result:
    return _integers(node, op.add(_real(node, 0), _real(node, 3)), 6)


@convert(_DOMAIN + "QLinearMul")
def qlinear_mul(node: Node) -> Result:
    return _integers(node, op.multiply(_real(node, 0), _real(node, 3)), 6)


@convert(_DOMAIN + "QLinearSigmoid")
def qlinear_sigmoid(node: Node) -> Result:
    return _integers(node, op.sigmoid(_real(node, 0)), 3)


@convert(_DOMAIN + "QLinearLeakyRelu")
def qlinear_leaky_relu(node: Node) -> Result:
    slope = float(node.attr("alpha", 0.01))
    return _integers(node, op.nn.leakyrelu(_real(node, 0), slope), 3)


@convert(_DOMAIN + "QLinearSoftmax")
def qlinear_softmax(node: Node) -> Result:
    """Along one axis; before operator set 13 over all axes from it on."""
    value, axis = _real(node, 0), node.axis(-1)
    if int(node.attr("opset", 13)) >= 13:
        return _integers(node, op.nn.softmax(value, axis), 3)
    shape = list(node.shape(0))
    flat = node.bb.emit(op.reshape(value, [*shape[:axis], -1]))
    return _integers(node, op.reshape(op.nn.softmax(flat, -1), shape), 3)


@convert(_DOMAIN + "QLinearGlobalAveragePool")
def qlinear_global_average_pool(node: Node) -> Result:
    last = bool(node.attr("channels_last", 0))
    axes = list(range(1, node.rank(0) - 1)) if last else list(range(2, node.rank(0)))
    return _integers(node, op.mean(_real(node, 0), axes, keepdims=True), 3)


@convert(_DOMAIN + "QLinearConcat")
def qlinear_concat(node: Node) -> Result:
    """The output's scale and zero point stand first."""
    values = [_real(node, at) for at in range(2, len(node.inputs), 3)]
    axis = node.axis(0, node.rank(2))
    return _integers(node, op.concat(values, axis), 0)


@convert(_DOMAIN + "QGemm")
def qgemm(node: Node) -> Result:
    """alpha * A' B' + C; C is of 32 bits, in the scale of the products, without `alpha`."""
    flipped = bool(node.attr("transB", 0))  # a scale is for a column of the product
    a, b = centred(node, 0, 2), centred(node, 3, 5, 0 if flipped else 1)
    if flipped:
        b = node.bb.emit(op.permute_dims(b))
    if node.attr("transA", 0):
        a = node.bb.emit(op.permute_dims(a))
    sums = node.bb.emit(op.matmul(a, b))
    scale = op.multiply(
        op.astype(node[1], "float32"), op.astype(along_axis(node, node[4], 1, 2), "float32")
    )
    scale = op.multiply(scale, Constant(np.float32(node.attr("alpha", 1.0))))
    if node.has(6):
        sums = node.bb.emit(op.add(sums, node[6]))
    real = op.multiply(op.astype(sums, "float32"), scale)
    return _integers(node, real, 7) if node.has(7) else real


# --- with channels last, or first ---


def _channels_first(node: Node) -> bool:
    """Give the node its data with the channels in front; True if they stood last."""
    if not node.attr("channels_last", 0):
        return False
    rank = node.rank(0)
    order = [0, rank - 1, *range(1, rank - 1)]
    node.replace(0, node.bb.emit(op.permute_dims(node[0], order)))
    return True


def _channels_last(node: Node, value: RelaxExpr) -> RelaxExpr:
    rank = node.rank(0)
    return op.permute_dims(node.bb.emit(value), [0, *range(2, rank), 1])


def _one(node: Node, name: str, opset: int) -> RelaxExpr:
    found = standard(name, opset)(node)
    assert isinstance(found, RelaxExpr), "one output"
    return node.bb.emit(found)


@convert(_DOMAIN + "QLinearConv")
def qlinear_conv(node: Node) -> Result:
    last = _channels_first(node)
    value = _one(node, "QLinearConv", 10)
    return _channels_last(node, value) if last else value


@convert(_DOMAIN + "NhwcMaxPool")
def nhwc_max_pool(node: Node) -> Result:
    node.attrs["channels_last"] = 1
    _channels_first(node)
    return _channels_last(node, _one(node, "MaxPool", 12))


@convert(_DOMAIN + "QLinearAveragePool")
def qlinear_average_pool(node: Node) -> Result:
    last = _channels_first(node)
    node.replace(0, _real(node, 0))
    value = _integers(node, _one(node, "AveragePool", 11), 3)
    return _channels_last(node, value) if last else value


@convert(_DOMAIN + "QLinearWhere")
def qlinear_where(node: Node) -> Result:
    return _integers(node, op.where(node[0], _real(node, 1), _real(node, 4)), 7)


# --- floats in, floats out ---


@convert(_DOMAIN + "MatMulIntegerToFloat")
def matmul_integer_to_float(node: Node) -> Result:
    """Products of integers, scaled."""
    a, b = centred(node, 0, 4), centred(node, 1, 5, node.rank(1) - 1)
    sums = op.astype(node.bb.emit(op.matmul(a, b)), node.dtype(2))
    scale = op.multiply(node[2], along_axis(node, node[3], node.rank(1) - 1, node.rank(1)))
    real = op.multiply(sums, scale)
    return op.add(real, node[6]) if node.has(6) else real


@convert(_DOMAIN + "DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: Node) -> Result:
    """The first input is quantised as it comes."""
    whole, scale, point = dynamically_quantised(node)
    a = op.subtract(op.astype(whole, "int32"), op.astype(point, "int32"))
    sums = op.matmul(node.bb.emit(a), centred(node, 1, 3, node.rank(1) - 1))
    own = along_axis(node, node[2], node.rank(1) - 1, node.rank(1))
    real = op.multiply(op.astype(node.bb.emit(sums), "float32"), op.multiply(scale, own))
    return op.add(real, node[4]) if node.has(4) else real


@convert(_DOMAIN + "QEmbedLayerNormalization")
def qembed_layer_normalization(node: Node) -> Result:
    """EmbedLayerNormalization of quantised tables."""
    for at, scale in ((2, 8), (3, 9), (4, 10), (5, 11), (6, 12)):
        if node.has(at):
            whole = op.astype(centred(node, at, scale + 5), "float32")
            node.replace(at, node.bb.emit(op.multiply(whole, node[scale])))
    node.inputs = node.inputs[:8]
    found = find_converter(_DOMAIN + "EmbedLayerNormalization", 1)
    assert found is not None, "it is known"
    return found(node)
