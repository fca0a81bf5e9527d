"""Mixtures of experts: each row goes through the few networks that its scores choose.

    y[t] = sum over the best k of s[t]:  s[t, e] * (act(x[t] W1[e] + b1[e]) W2[e] + b2[e])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tvm import te, tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import extents_of

from .block_quantized import packed_numbers
from .gates import narrow, silu, wide
from .node import Node
from .registry import Result, convert


class Layer(NamedTuple):
    """A layer of each expert: what its weights are in, how one is read, and the biases."""

    tensors: Sequence[RelaxExpr]
    read: Callable[..., Any]  # of tensors: a function of expert, output and input; the outputs
    bias: RelaxExpr | None


def _plain(node: Node, weight: int, bias: int) -> Layer | None:
    """Weights in floating point: (experts, outputs, inputs)."""
    if not node.has(weight):
        return None

    def read(w: te.Tensor) -> Any:
        return w, w.shape[1:]

    return Layer([wide(node, weight)], read, wide(node, bias) if node.has(bias) else None)


def _packed(node: Node, weight: int, zeros: int, name: str) -> Layer | None:
    """Weights of few bits, packed along the inputs; scales for each output, or blocks of inputs."""
    if not node.has(weight):
        return None
    bits = int(node.attr(f"{name}_expert_weight_bits", node.attr("expert_weight_bits", 4)))
    size = int(node.attr("block_size", 0))
    if bits not in (2, 4, 8):
        raise node.invalid("expert_weight_bits", bits, "2, 4, 8")
    tensors = [node[weight], wide(node, weight + 1)]
    if node.has(zeros):
        tensors.append(node[zeros])

    def read(w: te.Tensor, scale: te.Tensor, *zero: te.Tensor) -> Any:
        number = packed_numbers(w, bits)
        middle = [packed_numbers(tensor, bits) for tensor in zero]

        def at(e: Any, i: Any, k: Any) -> Any:
            place = (e, i, tir.indexdiv(k, size)) if size > 0 else (e, i)
            less = middle[0](*place) if middle else tir.const(1 << (bits - 1), "int32")
            return (number(e, i, k) - less).astype("float32") * scale(*place)

        return at, [w.shape[1], w.shape[2] * (8 // bits)]

    bias = weight + 2
    return Layer(tensors, read, wide(node, bias) if node.has(bias) else None)


@convert("com.microsoft.MoE")
def mixture_of_experts(node: Node) -> Result:
    """Only the chosen experts are computed; the rows may stand in one dimension or in two."""
    return _mixed(node, [_plain(node, at, at + 1) for at in (2, 4, 6)])


@convert("com.microsoft.QMoE")
def quantised_mixture_of_experts(node: Node) -> Result:
    """The same, with weights of few bits."""
    kind = str(node.attr("quant_type", "int"))
    if kind != "int":
        raise node.invalid("quant_type", kind, "int")
    layers = [_packed(node, 2 + 3 * i, 11 + i, f"fc{i + 1}") for i in range(3)]
    return _mixed(node, layers, shares=14)


def _mixed(node: Node, layers: Sequence[Layer | None], shares: int | None = None) -> Result:
    """`shares`: the input that, if given, weighs what the scores have chosen."""
    if node.attr("use_sparse_mixer", 0):
        raise node.invalid("use_sparse_mixer", 1, "0: the best k of a softmax")
    first, last, third = layers
    assert first is not None and last is not None, "those inputs are always there"
    bb, shape = node.bb, node.shape(0)
    rows = bb.emit(op.reshape(wide(node, 0), [-1, shape[-1]]))
    count = extents_of(rows)[0]  # type: ignore[index]
    scores = bb.emit(op.reshape(wide(node, 1), [count, node.shape(1)[1]]))
    scores = bb.emit(op.nn.softmax(scores, -1))
    best = bb.emit(op.topk(scores, int(node.attr("k", 4)), -1, "both", True, "int32"))
    weights, chosen = bb.emit(best[0]), bb.emit(best[1])
    normalised = bool(node.attr("normalize_routing_weights", 0))
    if shares is not None and not node.has(shares):
        normalised = True  # whatever the attribute says, as ONNX Runtime has it on CPUs
    elif shares is not None:
        given = bb.emit(op.reshape(wide(node, shares), [count, node.shape(1)[1]]))
        weights = bb.emit(op.gather_elements(given, bb.emit(op.astype(chosen, "int64")), 1))
    if normalised:
        weights = bb.emit(op.divide(weights, op.sum(weights, [-1], keepdims=True)))
    inner = _activated(node, rows, chosen, first, third)
    made = _through(node, inner, chosen, last)
    total = op.sum(op.multiply(made, bb.emit(op.expand_dims(weights, [-1]))), [1])
    return narrow(node, bb.emit(op.reshape(bb.emit(total), shape)))


def _activated(
    node: Node, rows: RelaxExpr, chosen: RelaxExpr, layer: Layer, third: Layer | None
) -> RelaxExpr:
    """(rows, k, inner): what the experts' first layers make."""
    first, bb = _through(node, rows, chosen, layer), node.bb
    plain: dict[str, Callable[[RelaxExpr], RelaxExpr]] = {
        "relu": op.nn.relu, "gelu": op.nn.gelu_tanh, "identity": lambda x: x,
        "silu": lambda x: silu(node, x),
    }  # fmt: skip
    name = str(node.attr("activation_type", "relu"))
    if name == "swiglu":
        return bb.emit(_gated(node, *_halves(node, rows, chosen, first, third)))
    if name not in plain:
        raise node.invalid("activation_type", name, ", ".join([*plain, "swiglu"]))
    if third is None:
        return bb.emit(plain[name](first))
    return bb.emit(op.multiply(plain[name](first), _through(node, rows, chosen, third)))


def _halves(
    node: Node, rows: RelaxExpr, chosen: RelaxExpr, first: RelaxExpr, third: Layer | None
) -> tuple[RelaxExpr, RelaxExpr]:
    """What gates, and what is gated: of two layers, or of one in turns or one behind the other."""
    way, bb = int(node.attr("swiglu_fusion", 0)), node.bb
    if way == 0:
        if third is None:
            raise node.invalid("swiglu_fusion", 0, "a third layer, or 1 or 2")
        return first, _through(node, rows, chosen, third)
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


def _through(node: Node, value: RelaxExpr, chosen: RelaxExpr, layer: Layer) -> RelaxExpr:
    """(rows, k, outputs): each row through a layer of its experts.

    The rows are (rows, inputs), or (rows, k, inputs) where each expert has its own.
    """

    def compute(x: te.Tensor, place: te.Tensor, *tensors: te.Tensor) -> Any:
        weight, (outputs, inner) = layer.read(*tensors)
        inputs = te.reduce_axis((0, inner), "inputs")

        def element(t: Any, j: Any, i: Any) -> Any:
            own = x(t, inputs) if x.ndim == 2 else x(t, j, inputs)
            return te.sum(own * weight(place(t, j), i, inputs), inputs)

        return te.compute((*place.shape, outputs), element, name="experts")

    bb = node.bb
    made = bb.emit_te(compute, value, chosen, *layer.tensors, primfunc_name_hint="experts")
    if layer.bias is None:
        return made
    return bb.emit(op.add(made, bb.emit(op.take(layer.bias, chosen, 0))))


@convert("com.microsoft.MoEGroupRouter")
def group_router(node: Node) -> Result:
    """Logarithms of the shares of the chosen experts, (tokens, experts), a low number elsewhere.

    Groups of experts are chosen first, by their best few scores (DeepSeek-AI 2024); the scores are
    sigmoids and a bias. Without a choice (outputs 1 and 2): those scores, and the sigmoids.
    """
    bb, shape = node.bb, node.shape(0)
    if node.has(2):
        raise node.invalid("projection_weight", "given", "left out: logits")
    logits = bb.emit(op.reshape(wide(node, 0), [-1, shape[-1]]))
    shares = bb.emit(op.sigmoid(logits))
    scores = bb.emit(op.add(shares, wide(node, 1)))
    if node.output_count > 1:
        return [shares, scores, shares]
    count, groups, chosen = int(shape[-1]), int(node.attr("n_group", 1)), scores  # type: ignore[call-overload]
    if groups < 1 or count % groups:
        raise node.invalid("n_group", groups, f"a divisor of {count} experts")
    low = Constant(np.asarray(np.finfo(np.float32).min, "float32"))
    if groups > 1:
        size = count // groups
        grouped = bb.emit(op.reshape(scores, [-1, groups, size]))
        few = min(int(node.attr("group_topk", 2)), size)
        best = bb.emit(op.topk(grouped, few, -1, "values", True, "int32"))
        total = bb.emit(op.sum(best, [-1]))
        kept = _best(node, total, int(node.attr("topk_group", 1)), groups)
        inside = bb.emit(op.where(bb.emit(op.expand_dims(kept, [-1])), grouped, low))
        chosen = bb.emit(op.reshape(inside, [-1, count]))
    mask = _best(node, chosen, int(node.required("top_k")), count)
    least = Constant(np.asarray(1e-20, "float32"))
    logarithms = bb.emit(op.log(bb.emit(op.maximum(shares, least))))
    rest = Constant(np.asarray(node.attr("router_sentinel", -10000.0), "float32"))
    return narrow(node, bb.emit(op.where(mask, logarithms, rest)))


def _best(node: Node, scores: RelaxExpr, k: int, count: int) -> RelaxExpr:
    """Which of each row are among its best k."""
    if not 1 <= k <= count:
        raise node.invalid("top_k, topk_group", k, f"1 ... {count}")
    best = node.bb.emit(op.topk(scores, k, -1, "indices", True, "int32"))

    def compute(chosen: te.Tensor) -> Any:
        i = te.reduce_axis((0, k), "i")
        one, zero = tir.const(1, "int32"), tir.const(0, "int32")
        found = te.compute(
            (chosen.shape[0], count),
            lambda t, e: te.max(tir.Select(chosen(t, i) == e.astype("int32"), one, zero), i),
            name="found",
        )
        return te.compute(found.shape, lambda *at: found(*at) > 0, name="among")

    return node.bb.emit_te(compute, best, primfunc_name_hint="among")
