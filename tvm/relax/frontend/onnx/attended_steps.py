"""AttnLSTM: an LSTM whose steps attend to a memory, and see what the step before attended to.

A step's input is followed by what was attended to before it. The state behind the step, with a
weight of its own, is added to the memory's keys; the hyperbolic tangent of the sum, with a vector,
gives each place of the memory its score (Bahdanau et al. 2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .node import Node
from .recurrent import activations_of
from .registry import Result, convert
from .written import Nodes, read_nodes, sizes

_INPUTS = (
    "X", "W", "R", "B", "lengths", "h", "c", "P", "query", "memory_weight", "vector", "memory",
    "memory_lengths", "out",
)  # fmt: skip
_OF_DIRECTIONS = ("W", "R", "B", "h", "c", "P", "query", "memory_weight", "vector", "out")
_NEEDED = ("X", "W", "R", "query", "memory_weight", "vector", "memory")


class _Direction:
    """One way through the steps, as nodes."""

    def __init__(self, node: Node, nodes: Nodes, way: int, *, backwards: bool) -> None:
        self.node, self.nodes, self.way, self.backwards = node, nodes, way, backwards
        self.given = {
            name: nodes("Gather", f"attended.{name}", np.asarray(way), axis=0)
            if name in _OF_DIRECTIONS else f"attended.{name}"
            for i, name in enumerate(_INPUTS) if node.has(i)
        }  # fmt: skip

    def run(self) -> list[str]:
        """Outputs (steps, batch, hidden), and the last of both states, (batch, hidden)."""
        import onnx

        nodes, given = self.nodes, self.given
        batch = nodes("Shape", given["X"], start=1, end=2)
        count = nodes("Shape", given["X"], start=0, end=1)
        lengths = nodes("Cast", given["lengths"], to=7) if "lengths" in given else nodes(
            "Expand", count, batch)  # fmt: skip
        keys = nodes("MatMul", given["memory"], given["memory_weight"])
        steps = self._turned(given["X"], lengths)
        numbers = nodes("Range", np.asarray(0), nodes("Squeeze", count, sizes(0)), np.asarray(1))
        state = [self._start(name, batch) for name in ("h", "c")]
        state.append(self._zeros(batch, self._width(given)))
        body = self._step(keys, lengths, self._outside(batch))
        ends = [nodes.fresh() for _ in range(4)]
        nodes.nodes.append(onnx.helper.make_node(
            "Scan", [*state, steps, numbers], ends, body=body, num_scan_inputs=2,
        ))  # fmt: skip
        return [self._turned(ends[3], lengths), ends[0], ends[1]]

    def _turned(self, steps: str, lengths: str) -> str:
        """Each row's steps from its last one on, if that is the way."""
        if not self.backwards:
            return steps
        return self.nodes("ReverseSequence", steps, lengths, batch_axis=1, time_axis=0)

    def _start(self, name: str, batch: str) -> str:
        return self.given.get(name) or self._zeros(batch, sizes(int(self.node.attr("hidden_size"))))

    def _zeros(self, batch: str, width: Any) -> str:
        nodes = self.nodes
        shape = nodes("Concat", batch, width, axis=0)
        return nodes("Expand", nodes("CastLike", np.float32(0), self.given["X"]), shape)

    def _width(self, given: Mapping[str, str]) -> str:
        """How much is attended to: of the memory, or of what a last weight makes of it."""
        name, axis = ("out", 1) if "out" in given else ("memory", 2)
        return self.nodes("Shape", given[name], start=axis, end=axis + 1)

    def _outside(self, batch: str) -> str:
        """Which places lie behind the end of a row's memory, (batch, places); "" where none do."""
        nodes = self.nodes
        if "memory_lengths" not in self.given:
            return ""
        places = nodes("Shape", self.given["memory"], start=1, end=2)
        numbers = nodes("Range", np.asarray(0), nodes("Squeeze", places, sizes(0)), np.asarray(1))
        ends = nodes("Cast", self.given["memory_lengths"], to=7)
        return nodes("GreaterOrEqual", numbers, nodes("Unsqueeze", ends, sizes(1)))

    def _step(self, keys: str, lengths: str, outside: str) -> Any:
        """A graph: both states, what was attended to, a step's input and number to the next."""
        import onnx

        given, prefix = self.given, f"attended.{self.way}."
        nodes = Nodes(f"{prefix}step.")
        h, c, seen, x, number = formal = [f"{prefix}{name}" for name in "hcaxn"]
        whole = nodes("Unsqueeze", nodes("Concat", x, seen, axis=1), sizes(0))
        one = [nodes("Unsqueeze", value, sizes(0)) for value in (given["W"], given["R"])]
        rest = ["" if value is None else nodes("Unsqueeze", value, sizes(0))
                for value in (given.get("B"), h, c, given.get("P"))]  # fmt: skip
        made = [nodes.fresh() for _ in range(2)]
        nodes.nodes.append(onnx.helper.make_node(
            "LSTM", [whole, *one, rest[0], "", *rest[1:]], ["", *made], **self._attributes(),
        ))  # fmt: skip
        new_h, new_c = (nodes("Squeeze", value, sizes(0)) for value in made)
        asked = nodes("Unsqueeze", nodes("MatMul", new_h, given["query"]), sizes(1))
        scores = nodes("Mul", nodes("Tanh", nodes("Add", keys, asked)), given["vector"])
        scores = nodes("ReduceSum", scores, sizes(-1), keepdims=0)
        if outside:
            low = nodes("CastLike", np.float32(-np.inf), scores)
            scores = nodes("Where", outside, low, scores)
        shares = nodes("Unsqueeze", nodes("Softmax", scores, axis=-1), sizes(1))
        new_seen = nodes("Squeeze", nodes("MatMul", shares, given["memory"]), sizes(1))
        if "out" in given:
            new_seen = nodes("MatMul", nodes("Concat", new_h, new_seen, axis=1), given["out"])
        inside = nodes("Unsqueeze", nodes("Less", number, lengths), sizes(1))
        zero = nodes("CastLike", np.float32(0), new_h)
        results = [nodes("Where", inside, new, old)
                   for new, old in ((new_h, h), (new_c, c), (new_seen, seen))]  # fmt: skip
        results.append(nodes("Where", inside, new_h, zero))
        inputs, outputs = ([onnx.ValueInfoProto(name=name) for name in names]
                           for names in (formal, results))  # fmt: skip
        return onnx.helper.make_graph(nodes.nodes, "step", inputs, outputs)

    def _attributes(self) -> dict[str, Any]:
        kept = ("hidden_size", "clip", "input_forget")
        found = {name: self.node.attrs[name] for name in kept if name in self.node.attrs}
        return found | activations_of(self.node, ["Sigmoid", "Tanh", "Tanh"], self.way)


@convert("com.microsoft.AttnLSTM")
def attn_lstm(node: Node) -> Result:
    """As LSTM: (steps, batch, in) -> (steps, directions, batch, hidden), and both last states."""
    for name in _NEEDED:
        node.ref(_INPUTS.index(name))  # refuses none
    node.required("hidden_size")
    way = node.attr("direction", "forward")
    ways = ["forward", "reverse"] if way == "bidirectional" else [way]
    if ways[0] not in ("forward", "reverse"):
        raise node.invalid("direction", way, "forward, reverse, bidirectional")
    nodes = Nodes("attended.")
    bound = {f"attended.{name}": node.ref(i) for i, name in enumerate(_INPUTS) if node.has(i)}
    found = [_Direction(node, nodes, i, backwards=one == "reverse").run()
             for i, one in enumerate(ways)]  # fmt: skip
    results = []
    for axis, values in zip((1, 0, 0), zip(*found)):
        rows = [nodes("Unsqueeze", value, sizes(axis)) for value in values]
        results.append(nodes("Concat", *rows, axis=axis))
    return read_nodes(node, nodes, bound, results[: node.output_count])
