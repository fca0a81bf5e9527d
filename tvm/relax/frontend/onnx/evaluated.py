"""A node on numbers that are known, as the reference implementation of the onnx package has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .known_values import LARGEST, Array

_RANDOM = ("Random", "Bernoulli", "Multinomial", "Dropout")


def evaluate_node(
    node: Any, opsets: Mapping[str, int], values: Sequence[Array | None]
) -> Array | None:
    """The one output of a node for these inputs; None where it is none of shape arithmetic."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    if not _is_plain(node):
        return None
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
    outputs = [onnx.ValueInfoProto(name=node.output[0])]
    graph = onnx.helper.make_graph([node], "node", inputs, outputs)
    imports = [onnx.helper.make_opsetid(name, number) for name, number in opsets.items()]
    feeds: Any = {name: value for name, value in zip(node.input, values) if name}
    try:
        model = onnx.helper.make_model(graph, opset_imports=imports)
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(model).run(None, feeds)
            found = results[0]
    except Exception:  # whatever the reference cannot do, the node's converter has to
        return None
    if not isinstance(found, (np.ndarray, np.generic)):  # a sequence, or nothing
        return None
    array = np.asarray(found)
    return array if array.dtype.kind in "iubf" and array.size <= LARGEST else None


def _is_plain(node: Any) -> bool:
    """An operator of ONNX's own, without graphs in it, whose result is the same each time."""
    import onnx

    if node.domain not in ("", "ai.onnx") or any(attr.HasField("g") for attr in node.attribute):
        return False
    return onnx.defs.has(node.op_type, "") and not node.op_type.startswith(_RANDOM)
