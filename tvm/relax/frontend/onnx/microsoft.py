"""Operators of ONNX Runtime's own set (com.microsoft), as its optimisers write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import te, tir
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
    a, b = (_transposed(node, i, side) for i, side in enumerate("AB"))
    product = op.matmul(a, b)
    alpha = float(node.attr("alpha", 1.0))
    return product if alpha == 1 else op.multiply(product, _number(node, alpha))


def _transposed(node: Node, i: int, side: str) -> RelaxExpr:
    """A factor with its last axes turned; a batch that stands behind the rows goes in front."""
    rank = node.rank(i)
    order = list(range(rank))
    if node.attr(f"transBatch{side}", 0):
        order = [*order[1:-1], 0, order[-1]]
    if node.attr(f"trans{side}", 0):
        order = [*order[:-2], order[-1], order[-2]]
    return node[i] if order == list(range(rank)) else op.permute_dims(node[i], order)


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
    total: RelaxExpr = op.take(node[2], ids, 0)
    if node.has(8):
        positions = op.take(node[3], node[8], 0)
    else:
        length = node.shape(0)[1]
        positions = op.strided_slice(node[3], [0], [0], [length])
    total = op.add(total, positions)
    if node.has(1):
        total = op.add(total, op.take(node[4], node[1], 0))
    total = node.bb.emit(total)
    norm = _layer_norm(node, total, 5, 6)
    if node.has(7):
        lengths = op.sum(op.astype(node[7], "int32"), [1])
    else:
        lengths = op.zeros((node.shape(0)[0],), "int32")
    return [norm, lengths, total]


@convert(_DOMAIN + "UnfoldTensor")
def unfold_tensor(node: Node) -> Result:
    """Windows along one axis, a step apart; their elements are a new last axis."""
    rank, size, step = node.rank(0), int(node.required("size")), int(node.attr("step", 1))
    axis = int(node.attr("dim", -1))
    if size < 1 or step < 1 or not -rank <= axis < rank:
        found = f"size {size}, step {step}, dim {axis}"
        raise node.invalid("size, step, dim", found, f"from 1 on, and {-rank} ... {rank - 1}")
    axis %= rank

    def windows(x: te.Tensor) -> Any:
        count = tir.floordiv(x.shape[axis] - size, step) + 1
        shape = [*x.shape[:axis], count, *x.shape[axis + 1 :], tir.const(size, "int64")]
        return te.compute(
            shape,
            lambda *i: x(*i[:axis], i[axis] * step + i[-1], *i[axis + 1 : -1]),
            name="windows",
        )

    return node.bb.emit_te(windows, node[0], primfunc_name_hint="windows")
