"""A node on numbers that are known, as the reference implementation of the onnx package has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .bodies import schema_of
from .known_values import LARGEST, Array

_RANDOM = ("Random", "Bernoulli", "Multinomial", "Dropout")


def evaluate_node(
    node: Any, opsets: Mapping[str, int], values: Sequence[Array | None]
) -> list[Array] | None:
    """The outputs of a node for these inputs; None where it is none of shape arithmetic."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    if not _is_plain(node, opsets.get("", 1)):
        return None
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", inputs, outputs)
    imports = [onnx.helper.make_opsetid(name, number) for name, number in opsets.items()]
    feeds: Any = {name: value for name, value in zip(node.input, values) if name}
    try:
        model = onnx.helper.make_model(graph, opset_imports=imports)
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # whatever the reference cannot do, the node's converter has to
        return None
    if not all(isinstance(found, (np.ndarray, np.generic)) for found in results):
        return None  # a sequence, or nothing
    arrays = [np.asarray(found) for found in results]
    if len(arrays) < len(node.output):
        return None
    return arrays if all(a.dtype.kind in "iubf" and a.size <= LARGEST for a in arrays) else None


def _is_plain(node: Any, opset: int) -> bool:
    """An operator of ONNX's own, without graphs in it, whose result is the same each time."""
    if node.domain not in ("", "ai.onnx") or any(attr.HasField("g") for attr in node.attribute):
        return False
    schema = schema_of(node.op_type, "", opset)
    if schema is None or node.op_type.startswith(_RANDOM):
        return False
    # the reference passes over attributes of other operator sets, converters read them
    return all(attr.name in schema.attributes for attr in node.attribute)
