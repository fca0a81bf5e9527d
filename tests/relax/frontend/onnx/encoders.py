"""Small encoders and their decoders, as searches of T5's and Whisper's form take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.relax.frontend.onnx.models import KINDS, Array

TOKENS, HEADS, SIZE, FEATURES = 13, 2, 4, 5
HIDDEN = HEADS * SIZE
SOURCES = np.array([[11, 2, 5, 4], [4, 7, 6, 11]], "int32")  # 11 is padding
SOUNDS = np.random.default_rng(0).standard_normal((2, FEATURES, 6)).astype("float32")


class _Graph:
    """Nodes and weights of a graph; `prefix` keeps names of several graphs apart."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def __call__(self, op: str, *inputs: Any, name: str = "", **attrs: Any) -> str:
        given = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = name or f"{self.prefix}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, given, [output], **attrs))
        return output

    def constant(self, value: Any) -> str:
        name = f"{self.prefix}w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def heads(self, value: str, name: str = "") -> str:
        apart = self("Reshape", value, np.array([0, 0, HEADS, SIZE]))
        return self("Transpose", apart, name=name, perm=[0, 2, 1, 3])

    def made(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> onnx.GraphProto:
        given, gives = ([helper.make_tensor_value_info(*one) for one in some]
                        for some in (inputs, outputs))  # fmt: skip
        return helper.make_graph(self.nodes, name, given, gives, self.weights)


def _decoded(
    graph: _Graph, words: Array, weights: Sequence[Array], tokens: str, cross: Sequence[str],
    mask: str = "", past: Sequence[str] = (),
) -> None:  # fmt: skip
    """Scores of tokens that look back, and at the source; its caches."""
    x = graph("Gather", words, tokens)
    kept = [graph.heads(graph("MatMul", x, w)) for w in weights[:2]]
    names = [f"present_{n}_self_0" for n in ("key", "value")]
    if past:
        kept = [graph("Concat", *pair, name=name, axis=2)
                for *pair, name in zip(past, kept, names)]  # fmt: skip
    else:
        kept = [graph("Identity", value, name=name) for value, name in zip(kept, names)]
    for key, value in (kept, cross):
        swapped = graph("Transpose", key, perm=[0, 1, 3, 2])
        scores = graph("MatMul", graph.heads(x), swapped)
        if mask and key is cross[0]:
            far = graph("Mul", graph("Cast", mask, to=TensorProto.FLOAT), np.float32(1e4))
            scores = graph("Add", scores, graph("Unsqueeze", far, np.array([1, 2])))
        seen = graph("MatMul", graph("Softmax", scores, axis=-1), value)
        flat = graph("Reshape", graph("Transpose", seen, perm=[0, 2, 1, 3]),
                     np.array([0, 0, HIDDEN]))  # fmt: skip
        x = graph("Add", x, flat)
    graph("MatMul", x, weights[-1], name="logits")


def pair(
    seed: int, *, sounds: bool = False, first: bool = False, hidden: bool = False,
    length: int | str = 1,
) -> tuple[onnx.GraphProto, onnx.GraphProto]:  # fmt: skip
    """Encoder and decoder of one layer; the first runs the decoder as well (older models).

    `hidden`: the decoder is given the encoder's states; `length`: how many tokens it says it takes.
    """
    rng = np.random.default_rng(seed)

    def weight(*shape: int) -> Array:
        return (rng.standard_normal(shape) * 1.2).astype("float32")

    words = weight(TOKENS, HIDDEN)
    own = [weight(HIDDEN, HIDDEN), weight(HIDDEN, HIDDEN), weight(HIDDEN, TOKENS)]
    ids, floats = TensorProto.INT32, TensorProto.FLOAT
    cache = ["b", HEADS, "p", SIZE]
    source = ["b", HEADS, "s", SIZE]
    mask = "" if sounds else "encoder_attention_mask"
    masks: list[Any] = [] if sounds else [(mask, ids, ["b", "s"])]
    states = [("encoder_hidden_states", floats, ["b", "s", HIDDEN])]
    kinds = ("key", "value")

    graph = _Graph("encoder.")
    if sounds:
        rows = graph("Transpose", "encoder_input_ids", perm=[0, 2, 1])
        x = graph("MatMul", rows, weight(FEATURES, HIDDEN), name="encoder_hidden_states")
    else:
        x = graph("Gather", weight(TOKENS, HIDDEN), "encoder_input_ids",
                  name="encoder_hidden_states")  # fmt: skip
    cross = [graph.heads(graph("MatMul", x, weight(HIDDEN, HIDDEN)), f"present_{n}_cross_0")
             for n in kinds]  # fmt: skip
    inputs = [("encoder_input_ids", *((floats, ["b", FEATURES, "s"]) if sounds
                                      else (ids, ["b", "s"]))), *masks]  # fmt: skip
    outputs = [(name, floats, source) for name in cross]
    kept = [(f"present_{n}_self_0", floats, cache) for n in kinds]
    if first:
        inputs.append(("decoder_input_ids", ids, ["b", "d"]))
        _decoded(graph, words, own, "decoder_input_ids", cross, mask)
        outputs = [("logits", floats, ["b", "d", TOKENS]), *states, *kept, *outputs]
    encoder = graph.made("encoder", inputs, outputs)

    graph = _Graph("decoder.")
    past = [f"past_{n}_self_0" for n in kinds]
    given = [f"past_{n}_cross_0" for n in kinds]
    _decoded(graph, words, own, "input_ids", given, mask, past)
    inputs = [("input_ids", ids, ["b", length]), *masks, *(states if hidden else []),
              *((name, floats, cache) for name in past),
              *((name, floats, source) for name in given)]  # fmt: skip
    outputs = [("logits", floats, ["b", "q", TOKENS]), *kept]
    return encoder, graph.made("decoder", inputs, outputs)


def search(
    op: str, names: Sequence[str], given: Mapping[str, Array], outputs: Sequence[str],
    graphs: tuple[onnx.GraphProto, onnx.GraphProto], **attrs: Any,
) -> onnx.ModelProto:  # fmt: skip
    """A model of one search; the extents of its source are open."""
    encoder, decoder = graphs
    tokens = {"decoder_start_token_id": 1, "eos_token_id": 3, "pad_token_id": 11}
    node = helper.make_node(
        op, [name if name in given else "" for name in names], outputs, domain="com.microsoft",
        encoder=encoder, decoder=decoder, **(tokens | attrs),
    )  # fmt: skip
    open_ones = {"input_ids": ["b", "s"], "decoder_input_ids": ["b", "d"]}
    if given["input_ids"].ndim == 3:
        open_ones["input_ids"] = ["b", str(FEATURES), "s"]
    values = [
        helper.make_tensor_value_info(
            name, KINDS[str(given[name].dtype)],
            [int(d) if d.isdigit() else d for d in open_ones[name]]
            if name in open_ones else given[name].shape,
        )
        for name in names if name in given
    ]  # fmt: skip
    results = [
        helper.make_tensor_value_info(
            name, TensorProto.INT32 if name == "sequences" else TensorProto.FLOAT, None)
        for name in outputs
    ]  # fmt: skip
    made = helper.make_graph([node], "g", values, results)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=imports, ir_version=8)
