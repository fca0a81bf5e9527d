"""Small decoders as searches of ONNX Runtime take them: GPT-2's inputs and outputs, random weights.

Tokens are 13; 3 ends a text, 11 is padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.relax.frontend.onnx.models import KINDS, Array

TOKENS, HIDDEN, HEADS, PLACES = 13, 8, 2, 32
PROMPTS = np.array([[1, 2, 5], [4, 7, 6]], "int32")
LONGER = np.array([[1, 2, 5, 4, 2]], "int32")


def decoder(seed: int, layers: int = 1) -> onnx.GraphProto:
    """(tokens, positions, mask, caches) -> (scores, longer caches)."""
    rng = np.random.default_rng(seed)

    def weight(*shape: int) -> Array:
        return (rng.standard_normal(shape) * 1.5).astype("float32")

    weights = {
        "words": weight(TOKENS, HIDDEN), "spots": weight(PLACES, HIDDEN),
        "head": weight(HIDDEN, TOKENS),
    }  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word"]),
        helper.make_node("Gather", ["spots", "position_ids"], ["spot"]),
        helper.make_node("Add", ["word", "spot"], ["h0"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["b", length])
        for name, length in (("input_ids", "s"), ("position_ids", "s"), ("attention_mask", "t"))
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "s", TOKENS])]
    for i in range(layers):
        weights |= {f"w{i}": weight(HIDDEN, 3 * HIDDEN) / 2, f"b{i}": weight(3 * HIDDEN) / 10}
        given = [f"h{i}", f"w{i}", f"b{i}", "attention_mask", f"past_{i}"]
        nodes += [
            helper.make_node("Attention", given, [f"a{i}", f"present_{i}"], unidirectional=1,
                             domain="com.microsoft", num_heads=HEADS),
            helper.make_node("Add", [f"a{i}", f"h{i}"], [f"h{i + 1}"]),
        ]  # fmt: skip
        size = HIDDEN // HEADS
        inputs.append(helper.make_tensor_value_info(
            f"past_{i}", TensorProto.FLOAT, [2, "b", HEADS, "p", size]))
        outputs.append(helper.make_tensor_value_info(
            f"present_{i}", TensorProto.FLOAT, [2, "b", HEADS, "t", size]))  # fmt: skip
    nodes.append(helper.make_node("MatMul", [f"h{layers}", "head"], ["logits"]))
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    return helper.make_graph(nodes, "decoder", inputs, outputs, constants)


def search(
    op: str, names: Sequence[str], given: Mapping[str, Array], outputs: Sequence[str],
    graph: onnx.GraphProto, **attrs: Any,
) -> onnx.ModelProto:  # fmt: skip
    """A model of one search, whose prompts have open extents; `names` are all of its inputs."""
    inputs = [name if name in given else "" for name in names]
    node = helper.make_node(op, inputs, outputs, domain="com.microsoft", decoder=graph,
                            eos_token_id=3, pad_token_id=11, **attrs)  # fmt: skip
    open_ones = ("input_ids", "attention_mask")
    values = [
        helper.make_tensor_value_info(
            name, KINDS[str(given[name].dtype)],
            ["b", "s"] if name in open_ones else given[name].shape,
        )
        for name in inputs if name
    ]  # fmt: skip
    kinds = {"sequences": TensorProto.INT32}
    results = [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None)
               for name in outputs]  # fmt: skip
    made = helper.make_graph([node], "g", values, results)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=imports, ir_version=8)
