"""Operators of ONNX Runtime's own set (com.microsoft), as its optimisers write them."""

from __future__ import annotations

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .node import Node
from .registry import Result, convert
from .scope import Ref

_DOMAIN = "com.microsoft."
# what norms of this set add to the variance
EPSILON = 1e-12


def _number(node: Node, value: float) -> Constant:
    return Constant(np.asarray(value, node.dtype(0)))


@convert(_DOMAIN + "Gelu")
def gelu(node: Node) -> Result:
    result: Result = op.nn.gelu(node[0])
    return result


@convert(_DOMAIN + "BiasGelu")
def bias_gelu(node: Node) -> Result:
    result: Result = op.nn.gelu(op.add(node[0], node[1]))
    return result


@convert(_DOMAIN + "FastGelu")
def fast_gelu(node: Node) -> Result:
    """By a hyperbolic tangent, with or without a bias."""
    value = op.add(node[0], node[1]) if node.has(1) else node[0]
    result: Result = op.nn.gelu_tanh(value)
    return result


@convert(_DOMAIN + "QuickGelu")
def quick_gelu(node: Node) -> Result:
    """x * sigmoid(alpha * x)."""
    alpha = _number(node, float(node.attr("alpha", 1.702)))
    return op.multiply(node[0], op.sigmoid(op.multiply(alpha, node[0])))


@convert(_DOMAIN + "FusedMatMul")
def fused_matmul(node: Node) -> Result:
    """alpha * a @ b, either transposed in its last axes."""
    a, b = (
        _transposed(node, i) if node.attr(name, 0) else node[i]
        for i, name in enumerate(("transA", "transB"))
    )
    product = op.matmul(a, b)
    alpha = float(node.attr("alpha", 1.0))
    return product if alpha == 1 else op.multiply(product, _number(node, alpha))


def _transposed(node: Node, i: int) -> RelaxExpr:
    rank = node.rank(i)
    return op.permute_dims(node[i], [*range(rank - 2), rank - 1, rank - 2])


@convert(_DOMAIN + "SkipLayerNormalization")
def skip_layer_normalization(node: Node) -> Result:
    """The layer norm of a sum; the sum itself is the fourth output."""
    total: RelaxExpr = op.add(node[0], node[1])
    if node.has(4):
        total = op.add(total, node[4])
    total = node.bb.emit(total)
    return _with_sum(node, _layer_norm(node, total, 2, 3), total)


@convert(_DOMAIN + "SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(node: Node) -> Result:
    """The root-mean-square norm of a sum."""
    total: RelaxExpr = op.add(node[0], node[1])
    if node.has(3):
        total = op.add(total, node[3])
    total = node.bb.emit(total)
    norm = op.nn.rms_norm(total, node[2], axes=[-1], epsilon=float(node.attr("epsilon", EPSILON)))
    return _with_sum(node, norm, total)


def _with_sum(node: Node, norm: RelaxExpr, total: RelaxExpr) -> Result:
    """The norm, the mean, the inverse of the deviation (each where it is read), and the sum."""
    if not node.wants(1) and not node.wants(2):
        return [norm, Ref.to(total), Ref.to(total), total]
    bb, centre = node.bb, node.op_type == "SkipLayerNormalization"
    x = bb.emit(op.astype(total, "float32"))
    mean = bb.emit(op.mean(x, [-1], keepdims=True))
    centred = bb.emit(op.subtract(x, mean)) if centre else x
    variance = op.mean(bb.emit(op.square(centred)), [-1], keepdims=True)
    epsilon = Constant(np.float32(node.attr("epsilon", EPSILON)))
    return [norm, mean, op.rsqrt(op.add(variance, epsilon)), total]


def _layer_norm(node: Node, value: RelaxExpr, weight: int, bias: int) -> RelaxExpr:
    shift = node.optional(bias)
    if shift is None:
        shift = op.zeros_like(node[weight])
    epsilon = float(node.attr("epsilon", EPSILON))
    return op.nn.layer_norm(value, node[weight], shift, axes=[-1], epsilon=epsilon)


@convert(_DOMAIN + "EmbedLayerNormalization")
def embed_layer_normalization(node: Node) -> Result:
    """Embeddings of words, positions and segments, added and normalised; the mask's lengths."""
    ids = node[0]
    total = op.take(node[2], ids, 0)
    if node.has(8):
        positions = op.take(node[3], node[8], 0)
    else:
        length = node.shape(0)[1]
        positions = op.strided_slice(node[3], [0], [0], [length])
    total = op.add(total, positions)
    if node.has(1):
        total = op.add(total, op.take(node[4], node[1], 0))
    norm = _layer_norm(node, node.bb.emit(total), 5, 6)
    if node.has(7):
        lengths = op.sum(op.astype(node[7], "int32"), [1])
    else:
        lengths = op.zeros((node.shape(0)[0],), "int32")
    return [norm, lengths][: max(node.output_count, 1)]


@convert(_DOMAIN + "Attention")
def attention(node: Node) -> Result:
    """Queries, keys and values by one product, then attention over (batch, sequence, hidden)."""
    for i, what in ((4, "past"), (6, "past_sequence_length")):
        if node.has(i):
            raise node.invalid(what, "given", "attention over one whole sequence")
    heads = int(node.attr("num_heads"))
    batch, length, _ = node.shape(0)
    product = op.matmul(node[0], node[1])
    if node.has(2):
        product = op.add(product, node[2])
    sizes = [int(s) for s in node.attr("qkv_hidden_sizes", [])]
    ends = [sizes[0], sizes[0] + sizes[1]] if sizes else 3
    parts = node.bb.emit(op.split(node.bb.emit(product), ends, 2))
    query, key, value = (
        node.bb.emit(op.reshape(parts[i], [batch, length, heads, -1])) for i in range(3)
    )
    mask = _mask(node, batch, length)
    scale = node.attr("scale") or None
    causal = "TopLeft" if node.attr("unidirectional", 0) else None
    out = op.nn.attention(query, key, value, mask, scale=scale, causal_mask=causal)
    return op.reshape(node.bb.emit(out), [batch, length, -1])


def _mask(node: Node, batch: object, length: object) -> RelaxExpr | None:
    """What is added to scores: -10000 where a key does not count, and the given bias."""
    total: RelaxExpr | None = None
    if node.has(3):
        rank = node.rank(3)
        if rank == 1:
            ends = op.expand_dims(node[3], [1])
            keys = op.expand_dims(op.arange(0, length, 1, "int32"), [0])
            counted = op.less(keys, ends)
        else:
            counted = op.astype(node[3], "bool")
        shape = [batch, 1, 1, length] if rank <= 2 else [batch, 1, length, length]
        if rank == 4:
            raise node.invalid("mask_index", "four dimensions", "one to three")
        low = float(node.attr("mask_filter_value", -10000.0))
        marks = op.where(counted, _number(node, 0), _number(node, low))
        total = node.bb.emit(op.reshape(marks, shape))
    if node.has(5):
        total = node[5] if total is None else node.bb.emit(op.add(total, node[5]))
    if total is None:
        return None
    heads = int(node.attr("num_heads"))
    return node.bb.emit(op.broadcast_to(total, [batch, heads, length, length]))
