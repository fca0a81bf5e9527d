"""Operators that are others by another name, or others and a little more."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend import equations

from .linear import square
from .node import Node
from .registry import Converter, Result, convert, find_converter

_DOMAIN = "com.microsoft."


def standard(name: str, opset: int, **attrs: Any) -> Converter:
    """ONNX's own operator, as a version of its set defines it, with these attributes."""

    def converter(node: Node) -> Result:
        node.opset = opset
        node.attrs |= attrs
        found = find_converter(name, opset)
        assert found is not None, name
        return found(node)

    return converter


for _name, _own, _opset in (
    ("Trilu", "Trilu", 14), ("GridSample", "GridSample", 16), ("GatherND", "GatherND", 13),
    ("Range", "Range", 11), ("Pad", "Pad", 13), ("QuantizeLinear", "QuantizeLinear", 13),
    ("DequantizeLinear", "DequantizeLinear", 13), ("MatMulInteger16", "MatMulInteger", 10),
    ("TransposeMatMul", _DOMAIN + "FusedMatMul", 1),
    ("SparseToDenseMatMul", _DOMAIN + "FusedMatMul", 1),  # what is sparse is written out
):  # fmt: skip
    convert(_DOMAIN + _name)(standard(_own, _opset))
convert("DynamicSlice")(standard("Slice", 10))
convert("MemcpyFromHost", "MemcpyToHost")(standard("Identity", 13))


def _number(node: Node, value: float) -> Constant:
    return Constant(np.asarray(value, node.dtype(0)))


# --- products with an activation behind them ---


def activated(node: Node, value: RelaxExpr, params: list[float]) -> RelaxExpr:
    """The activation that an attribute names."""
    name = str(node.attr("activation", ""))
    value = node.bb.emit(value)
    first, second = ([*params, None, None])[:2]
    if name == "HardSigmoid":
        slope, start = (0.2 if first is None else first), (0.5 if second is None else second)
        line = op.add(op.multiply(value, _number(node, slope)), _number(node, start))
        return op.clip(node.bb.emit(line), 0.0, 1.0)
    if name == "HardSwish":
        third = op.clip(op.add(op.multiply(value, _number(node, 1 / 6)), _number(node, 0.5)), 0, 1)
        return op.multiply(value, node.bb.emit(third))
    rules: dict[str, Any] = {
        "": lambda x: x, "Relu": op.nn.relu, "Tanh": op.tanh, "Sigmoid": op.sigmoid,
        "LeakyRelu": lambda x: op.nn.leakyrelu(x, 0.01 if first is None else first),
        "Clip": lambda x: op.clip(x, min(params), params[1]),
    }  # fmt: skip
    if name not in rules:
        raise node.invalid("activation", name, ", ".join([*rules, "HardSigmoid", "HardSwish"]))
    found: RelaxExpr = rules[name](value)
    return found


@convert(_DOMAIN + "FusedConv")
def fused_conv(node: Node) -> Result:
    """A convolution, plus a tensor, through an activation."""
    product = standard("Conv", 11)(node)
    assert isinstance(product, RelaxExpr), "one output"
    if node.has(3):
        product = op.add(node.bb.emit(product), node[3])
    return activated(node, product, [float(p) for p in node.attr("activation_params", [])])


@convert(_DOMAIN + "FusedGemm")
def fused_gemm(node: Node) -> Result:
    product = standard("Gemm", 13)(node)
    assert isinstance(product, RelaxExpr), "one output"
    names = [name for name in ("activation_alpha", "activation_beta") if name in node.attrs]
    return activated(node, product, [float(node.attrs[name]) for name in names])


@convert(_DOMAIN + "ConvTransposeWithDynamicPads")
def conv_transpose_with_dynamic_pads(node: Node) -> Result:
    """The pads are an input that importing knows."""
    pads = node.integers(2, "pads")
    node.inputs = [*node.inputs[:2], *node.inputs[3:4]]
    return standard("ConvTranspose", 11, pads=pads)(node)


# --- norms ---


@convert("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: Node) -> Result:
    """The root-mean-square norm, and the inverse of that mean."""
    axes = list(range(node.axis(-1), node.rank(0)))
    epsilon = float(node.attr("epsilon", 1e-5))
    norm = op.nn.rms_norm(node[0], node[1], axes=axes, epsilon=epsilon)
    if not node.wants(1):
        return norm
    x = node.bb.emit(op.astype(node[0], "float32"))
    mean = op.mean(node.bb.emit(op.square(x)), axes, keepdims=True)
    return [norm, op.rsqrt(op.add(mean, Constant(np.float32(epsilon))))]


# --- small things ---


@convert(_DOMAIN + "SampleOp")
def echo(node: Node) -> Result:
    return [node.ref(0)]


@convert(_DOMAIN + "ExpandDims")
def expand_dims(node: Node) -> Result:
    return op.expand_dims(node[0], node.integers(1, "axis"))


@convert(_DOMAIN + "Unique")
def unique(node: Node) -> Result:
    """Values as they come first, which each element is, how often each comes."""
    node.outputs = [node.outputs[0], "", *node.outputs[1:]]
    node.output_count = 4
    found = standard("Unique", 11, sorted=0)(node)
    assert not isinstance(found, RelaxExpr), "four outputs"
    return [found[0], *found[2:]]


@convert(_DOMAIN + "CDist")
def cdist(node: Node) -> Result:
    """Distances of all rows of the first input to all of the second."""
    metric = str(node.attr("metric", "sqeuclidean"))
    if metric not in ("euclidean", "sqeuclidean"):
        raise node.invalid("metric", metric, "euclidean, sqeuclidean")

    def compute(a: te.Tensor, b: te.Tensor) -> Any:
        k = te.reduce_axis((0, a.shape[1]), "k")
        return te.compute(
            (a.shape[0], b.shape[0]),
            lambda i, j: te.sum((a(i, k) - b(j, k)) * (a(i, k) - b(j, k)), axis=k),
            name="distances",
        )

    squares = node.bb.emit_te(compute, node[0], node[1], primfunc_name_hint="cdist")
    return op.sqrt(squares) if metric == "euclidean" else squares


@convert(_DOMAIN + "NGramRepeatBlock")
def ngram_repeat_block(node: Node) -> Result:
    """Scores, with minus infinity for tokens that would repeat a run of `ngram_size` tokens."""
    size = int(node.required("ngram_size"))

    def compute(ids: te.Tensor, scores: te.Tensor) -> Any:
        length = ids.shape[1]

        def element(b: Any, v: Any) -> Any:
            i = te.reduce_axis((0, tir.max(length - (size - 1), tir.const(0, "int64"))), "i")
            same = [tir.EQ(ids(b, i + d), ids(b, length - (size - 1) + d)) for d in range(size - 1)]
            blocked = tir.all(*same, tir.EQ(ids(b, i + (size - 1)), v.astype(ids.dtype)))
            return te.max(tir.Select(blocked, tir.const(1, "int32"), tir.const(0, "int32")), axis=i)

        return te.compute(scores.shape, element, name="repeats")

    repeats = node.bb.emit_te(compute, node[0], node[1], primfunc_name_hint="repeats")
    none = Constant(np.asarray(-np.inf, node.dtype(1)))
    # the maximum of no run at all is below zero
    blocked = op.greater(repeats, Constant(np.int32(0)))
    return op.where(blocked, none, node[1])


@convert(_DOMAIN + "Inverse")
def inverse(node: Node) -> Result:
    return op.reshape(equations.inverse(node.bb, square(node)), node.shape(0))


# --- operators of the first sets, which runtimes still know ---


@convert("Affine")
def affine(node: Node) -> Result:
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 0.0))
    return op.add(op.multiply(node[0], _number(node, alpha)), _number(node, beta))


@convert("Scale")
def scale(node: Node) -> Result:
    return op.multiply(node[0], _number(node, float(node.attr("scale", 1.0))))


@convert("ScaledTanh")
def scaled_tanh(node: Node) -> Result:
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    return op.multiply(_number(node, alpha), op.tanh(op.multiply(node[0], _number(node, beta))))


@convert("ParametricSoftplus")
def parametric_softplus(node: Node) -> Result:
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    soft = op.nn.softplus(op.multiply(node[0], _number(node, beta)))
    return op.multiply(_number(node, alpha), soft)


@convert("ImageScaler")
def image_scaler(node: Node) -> Result:
    """A factor for all, a bias for each channel."""
    bias = np.asarray(node.attr("bias", []), node.dtype(0)).reshape(1, -1, 1, 1)
    scaled = op.multiply(node[0], _number(node, float(node.attr("scale", 1.0))))
    return op.add(scaled, Constant(bias)) if bias.size else scaled


@convert("Crop")
def crop(node: Node) -> Result:
    """Rows and columns between borders (left, top, right, bottom), or of a size."""
    left, top, right, bottom = (int(b) for b in node.required("border"))
    height, width = node.shape(0)[2:]
    ends: list[Any] = [height - bottom, width - right]
    if node.attr("scale"):
        ends = [top + int(node.attr("scale")[0]), left + int(node.attr("scale")[1])]
    return op.strided_slice(node[0], [2, 3], [top, left], ends)
