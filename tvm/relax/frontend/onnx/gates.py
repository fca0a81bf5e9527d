"""Gates and norms of ONNX Runtime's own set, as linear attention and gated networks have them.

All of them compute in float32, whatever the type of their tensors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import extents_of

from .node import Node
from .registry import Result, convert

_DOMAIN = "com.microsoft."


def wide(node: Node, i: int) -> RelaxExpr:
    """An input in float32."""
    return node[i] if node.dtype(i) == "float32" else node.bb.emit(op.astype(node[i], "float32"))


def narrow(node: Node, value: RelaxExpr, i: int = 0) -> RelaxExpr:
    """A value of float32 in the type of an input."""
    return value if node.dtype(i) == "float32" else op.astype(value, node.dtype(i))


def silu(node: Node, value: RelaxExpr, alpha: float = 1.0) -> RelaxExpr:
    """value * sigmoid(alpha * value)"""
    value = node.bb.emit(value)
    factor = Constant(np.asarray(alpha, "float32"))
    inner = value if alpha == 1 else op.multiply(value, factor)
    return op.multiply(value, op.sigmoid(inner))


@convert(_DOMAIN + "GatedRMSNorm")
def gated_rms_norm(node: Node) -> Result:
    """The norm of each group of as many elements as there are scales, times a gate."""
    rules: dict[str, Callable[[Node, RelaxExpr], RelaxExpr]] = {
        "silu": silu, "swish": silu, "sigmoid": lambda _, gate: op.sigmoid(gate),
    }  # fmt: skip
    name = str(node.attr("activation", "silu"))
    if name not in rules:
        raise node.invalid("activation", name, ", ".join(rules))
    bb, shape = node.bb, node.shape(0)
    grouped = bb.emit(op.reshape(wide(node, 0), [*shape[:-1], -1, node.shape(1)[0]]))
    epsilon = float(node.attr("epsilon", 1e-5))
    normed = bb.emit(op.nn.rms_norm(grouped, wide(node, 1), axes=[-1], epsilon=epsilon))
    gate = bb.emit(rules[name](node, wide(node, 2)))
    return narrow(node, bb.emit(op.multiply(op.reshape(normed, shape), gate)))


@convert(_DOMAIN + "BranchwiseRMSNorm")
def branchwise_rms_norm(node: Node) -> Result:
    """The norm of each branch: the last axis, or each of so many parts of it."""
    bb, shape, count = node.bb, node.shape(0), int(node.attr("num_branches", 0))
    value = wide(node, 0)
    if count:
        value = bb.emit(op.reshape(value, [*shape[:-1], count, -1]))
    extents = extents_of(value)
    assert extents is not None, "the rank is known"
    ones = Constant(np.ones(int(extents[-1]), "float32"))  # type: ignore[call-overload]
    epsilon = float(node.attr("epsilon", 1e-5))
    normed = bb.emit(op.nn.rms_norm(value, ones, axes=[-1], epsilon=epsilon))
    if node.has(1):
        scale = wide(node, 1)
        if node.rank(1) == 1 and not bb.analyzer.can_prove_equal(node.shape(1)[0], extents[-1]):
            scale = bb.emit(op.reshape(scale, extents[-2:]))
        normed = bb.emit(op.multiply(normed, scale))
    return narrow(node, bb.emit(op.reshape(normed, shape)))


@convert(_DOMAIN + "ScaledSiLU")
def scaled_silu(node: Node) -> Result:
    """z * sigmoid(z), where z is the input times a factor."""
    factor: RelaxExpr
    if node.has(1):
        factor = op.astype(op.reshape(node[1], ()), "float32")
    else:
        factor = Constant(np.asarray(node.attr("alpha", 1.0), "float32"))
    scaled = node.bb.emit(narrow(node, op.multiply(wide(node, 0), factor)))
    return op.multiply(scaled, op.sigmoid(scaled))


@convert(_DOMAIN + "GatedAdd")
def gated_add(node: Node) -> Result:
    """X + Y * gate, one gate a row; with weights, the gate is the sigmoid of a product."""
    gate = node[2]
    if node.has(3):
        product = node.bb.emit(op.matmul(wide(node, 2), wide(node, 3)))
        gate = narrow(node, op.sigmoid(product))
    return op.add(node[0], op.multiply(node[1], gate))


@convert(_DOMAIN + "LinearAttentionGate")
def linear_attention_gate(node: Node) -> Result:
    """How fast the state of linear attention decays, and how much of the new comes in."""
    biased = node.bb.emit(op.add(wide(node, 0), wide(node, 1)))
    decay = op.multiply(wide(node, 2), op.nn.softplus(biased, 1.0, 1e30))
    found = [node.bb.emit(narrow(node, decay))]
    if node.has(3):
        found.append(node.bb.emit(narrow(node, op.sigmoid(wide(node, 3)))))
    return found
