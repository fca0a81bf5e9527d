"""Operators that are written as nodes of ONNX's own: the nodes, and reading them in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .graph import names_read
from .node import Node
from .scope import Ref, Scope

_OPSET = 18  # what the nodes are of


def sizes(*numbers: int) -> Any:
    """A tensor of numbers, as shapes, axes and pads are."""
    return np.array(numbers, "int64")


class Nodes:
    """Nodes that are written one after the other."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []
        self._count = 0

    def __call__(
        self, op: str, *inputs: Any, name: str = "", domain: str = "", **attrs: Any
    ) -> str:
        """A node of one output; inputs that are arrays or numbers become constants."""
        import onnx

        given = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = name or self.fresh()
        self.nodes.append(onnx.helper.make_node(op, given, [output], domain=domain, **attrs))
        return output

    def pair(self, op: str, *inputs: str, **attrs: Any) -> tuple[str, str]:
        """A node of two outputs."""
        import onnx

        first, second = self.fresh(), self.fresh()
        self.nodes.append(onnx.helper.make_node(op, inputs, [first, second], **attrs))
        return first, second

    def constant(self, value: Any) -> str:
        """A tensor; whole numbers are int64."""
        import onnx

        array = np.asarray(value)
        output = self.fresh()
        tensor = onnx.numpy_helper.from_array(array, output)
        self.nodes.append(onnx.helper.make_node("Constant", [], [output], value=tensor))
        return output

    def fresh(self) -> str:
        """A name that no other value has."""
        self._count += 1
        return f"{self.prefix}{self._count}"


def run_graph(nodes: Nodes, graph: Any, given: Sequence[str], prefix: str) -> list[str]:
    """A run of a graph on values, in a scope of its own: its results."""
    import onnx

    results = [f"{prefix}{i}" for i in range(len(graph.output))]
    branch = onnx.GraphProto()
    branch.CopyFrom(graph)
    formals = [formal.name for formal in graph.input]
    del branch.input[:], branch.node[:]
    branch.node.extend(
        onnx.helper.make_node("Identity", [actual], [formal])
        for formal, actual in zip(formals, given) if formal != actual
    )  # fmt: skip
    branch.node.extend(graph.node)
    # a condition that always holds: the graph is read where it stands
    always = nodes.constant(np.asarray(True))
    ways = {"then_branch": branch, "else_branch": branch}
    nodes.nodes.append(onnx.helper.make_node("If", [always], results, **ways))
    return results


def read_nodes(
    node: Node, nodes: Nodes, bound: Mapping[str, Ref], outputs: Sequence[str]
) -> list[Ref]:
    """Read nodes where another one stands: the values of these names.

    `bound` are values that the nodes read, by the names that they read them by.
    """
    opsets = {**node.scope.opsets, "": max(node.scope.opsets.get("", 1), _OPSET)}
    scope = Scope(opsets, node.scope, names_read(nodes.nodes, outputs))
    for name, ref in bound.items():
        scope.bind(name, ref)
    return node.reader.within(deeper=1).values(nodes.nodes, scope, outputs, f"{node.name}/")
