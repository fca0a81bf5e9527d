"""Mixtures of experts: each row goes through the few networks that its scores choose.

    y[t] = sum over the best k of s[t]:  s[t, e] * (act(x[t] W1[e] + b1[e]) W2[e] + b2[e])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm import te
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import extents_of

from .gates import narrow, silu, wide
from .node import Node
from .registry import Result, convert


@convert("com.microsoft.MoE")
def mixture_of_experts(node: Node) -> Result:
    """Only the chosen experts are computed; the rows may stand in one dimension or in two."""
    if node.attr("use_sparse_mixer", 0):
        raise node.invalid("use_sparse_mixer", 1, "0: the best k of a softmax")
    bb, shape = node.bb, node.shape(0)
    rows = bb.emit(op.reshape(wide(node, 0), [-1, shape[-1]]))
    count = extents_of(rows)[0]  # type: ignore[index]
    scores = bb.emit(op.reshape(wide(node, 1), [count, node.shape(1)[1]]))
    shares = bb.emit(op.nn.softmax(scores, -1))
    best = bb.emit(op.topk(shares, int(node.attr("k", 4)), -1, "both", True, "int32"))
    weights, chosen = bb.emit(best[0]), bb.emit(best[1])
    if node.attr("normalize_routing_weights", 0):
        weights = bb.emit(op.divide(weights, op.sum(weights, [-1], keepdims=True)))
    inner = _activated(node, rows, chosen)
    made = _through(node, inner, chosen, 4, 5)
    total = op.sum(op.multiply(made, bb.emit(op.expand_dims(weights, [-1]))), [1])
    return narrow(node, bb.emit(op.reshape(bb.emit(total), shape)))


def _activated(node: Node, rows: RelaxExpr, chosen: RelaxExpr) -> RelaxExpr:
    """(rows, k, inner): what the experts' first layers make."""
    first, bb = _through(node, rows, chosen, 2, 3), node.bb
    plain: dict[str, Callable[[RelaxExpr], RelaxExpr]] = {
        "relu": op.nn.relu, "gelu": op.nn.gelu_tanh, "identity": lambda x: x,
        "silu": lambda x: silu(node, x),
    }  # fmt: skip
    name = str(node.attr("activation_type", "relu"))
    if name == "swiglu":
        return bb.emit(_gated(node, *_halves(node, rows, chosen, first)))
    if name not in plain:
        raise node.invalid("activation_type", name, ", ".join([*plain, "swiglu"]))
    if not node.has(6):
        return bb.emit(plain[name](first))
    return bb.emit(op.multiply(plain[name](first), _through(node, rows, chosen, 6, 7)))


def _halves(
    node: Node, rows: RelaxExpr, chosen: RelaxExpr, first: RelaxExpr
) -> tuple[RelaxExpr, RelaxExpr]:
    """What gates, and what is gated: of two layers, or of one in turns or one behind the other."""
    way, bb = int(node.attr("swiglu_fusion", 0)), node.bb
    if way == 0:
        return first, _through(node, rows, chosen, 6, 7)
    if way not in (1, 2):
        raise node.invalid("swiglu_fusion", way, "0, 1, 2")
    count, k = extents_of(first)[:2]  # type: ignore[index]
    pairs = [count, k, -1, 2] if way == 1 else [count, k, 2, -1]
    parts = bb.emit(op.split(bb.emit(op.reshape(first, pairs)), 2, 3 if way == 1 else 2))
    gate, value = (
        bb.emit(op.squeeze(bb.emit(parts[i]), [3 if way == 1 else 2])) for i in range(2)
    )
    return gate, value


def _gated(node: Node, gate: RelaxExpr, value: RelaxExpr) -> RelaxExpr:
    """gate * sigmoid(alpha * gate) * (value + beta), both within limits where there are some."""
    alpha = float(node.attr("activation_alpha", 1.0))
    beta = Constant(np.asarray(node.attr("activation_beta", 0.0), "float32"))
    limit = node.attr("swiglu_limit")
    if limit is not None:
        most = float(limit)
        gate = node.bb.emit(op.minimum(gate, Constant(np.asarray(most, "float32"))))
        value = node.bb.emit(op.clip(value, -most, most))
    return op.multiply(silu(node, gate, alpha), op.add(value, beta))


def _through(node: Node, value: RelaxExpr, chosen: RelaxExpr, weights: int, bias: int) -> RelaxExpr:
    """(rows, k, outputs): each row through a layer of its experts.

    The rows are (rows, inputs), or (rows, k, inputs) where each expert has its own.
    """

    def compute(x: te.Tensor, w: te.Tensor, place: te.Tensor) -> Any:
        inputs = te.reduce_axis((0, w.shape[2]), "inputs")

        def element(t: Any, j: Any, i: Any) -> Any:
            own = x(t, inputs) if x.ndim == 2 else x(t, j, inputs)
            return te.sum(own * w(place(t, j), i, inputs), inputs)

        return te.compute((*place.shape, w.shape[1]), element, name="experts")

    bb = node.bb
    made = bb.emit_te(compute, value, wide(node, weights), chosen, primfunc_name_hint="experts")
    if not node.has(bias):
        return made
    return bb.emit(op.add(made, bb.emit(op.take(wide(node, bias), chosen, 0))))
