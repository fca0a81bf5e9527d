"""Several residual streams beside each other: how they are mixed, and gates of what is looked up.

Streams are (..., c, h): c of them, each of h features.
"""

from __future__ import annotations

import math

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .gates import narrow, wide
from .node import Node
from .registry import Result, convert


def _grouped(node: Node) -> RelaxExpr:
    """The streams apart, in float32; `num_branches` says how many lie in the last axis."""
    branches, streams = int(node.attr("num_branches", 0)), wide(node, 0)
    if not branches:
        return streams
    return node.bb.emit(op.reshape(streams, [*node.shape(0)[:-1], branches, -1]))


def _gates(node: Node, at: int, streams: RelaxExpr) -> RelaxExpr:
    """Gates of whole streams, or of each feature, as they are broadcast with the streams."""
    shape = streams.struct_info.shape.values  # type: ignore[attr-defined]
    gates, bb = wide(node, at), node.bb
    if node.rank(at) == len(shape):
        return gates
    flat = node.shape(at)[-1]
    alone = str(flat) == str(shape[-2])
    return bb.emit(op.reshape(gates, [*shape[:-1], 1] if alone else list(shape)))


@convert("com.microsoft.HyperConnectionPreMix")
def hyper_connection_pre_mix(node: Node) -> Result:
    """(..., c, h) -> (..., h): the sum of streams, each by its gate."""
    bb = node.bb
    streams = _grouped(node)
    total = op.sum(bb.emit(op.multiply(streams, _gates(node, 1, streams))), [-2])
    factor = Constant(np.asarray(node.attr("reduction_scale", 1.0), "float32"))
    return narrow(node, bb.emit(op.multiply(bb.emit(total), factor)))


@convert("com.microsoft.HyperConnectionPostMix")
def hyper_connection_post_mix(node: Node) -> Result:
    """y[k] = sum over c of mix[c, k] * x[c], plus gate[k] * branch."""
    bb = node.bb
    streams = _grouped(node)
    mixed = streams
    if node.has(3):
        turned = list(range(node.rank(3)))
        turned[-2:] = turned[:-3:-1]
        mixed = bb.emit(op.matmul(bb.emit(op.permute_dims(wide(node, 3), turned)), streams))
    branch = bb.emit(op.expand_dims(wide(node, 1), [-2]))
    added = bb.emit(op.multiply(_gates(node, 2, streams), branch))
    result = bb.emit(op.add(mixed, added))
    if node.attr("num_branches", 0):
        result = bb.emit(op.reshape(result, node.shape(0)))
    return narrow(node, result)


@convert("com.microsoft.EngramGate")
def engram_gate(node: Node) -> Result:
    """What was looked up, (batch, sequence, h), by a gate for each stream; and its norm.

    The gate is sigmoid(sign(d) * sqrt(|d|)), d the product of the norms of key and query by
    sqrt(h).
    """
    bb, epsilon = node.bb, float(node.attr("epsilon", 1e-5))

    def norm(value: RelaxExpr, scale: int) -> RelaxExpr:
        mean = bb.emit(op.mean(bb.emit(op.square(value)), [-1], keepdims=True))
        root = bb.emit(op.rsqrt(op.add(mean, Constant(np.float32(epsilon)))))
        return bb.emit(op.multiply(bb.emit(op.multiply(value, root)), wide(node, scale)))

    size = int(node.shape(0)[-1])  # type: ignore[call-overload]
    both = bb.emit(op.multiply(norm(wide(node, 0), 3), norm(wide(node, 1), 4)))
    product = bb.emit(op.sum(both, [-1], keepdims=True))
    product = bb.emit(op.multiply(product, Constant(np.float32(1 / math.sqrt(size)))))
    least = Constant(np.float32(1e-6))
    root = bb.emit(op.sqrt(bb.emit(op.maximum(bb.emit(op.abs(product)), least))))
    gate = bb.emit(op.sigmoid(bb.emit(op.multiply(op.sign(product), root))))
    gated = bb.emit(op.multiply(gate, bb.emit(op.expand_dims(wide(node, 2), [2]))))
    if not node.wants(1):
        return narrow(node, gated)
    return [narrow(node, gated), narrow(node, norm(gated, 5))]
