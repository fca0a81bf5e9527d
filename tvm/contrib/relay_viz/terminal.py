"""Functions as trees of text.

    @main([Var(x), Var(w)])
    `--nn.relu
       `--nn.dense(units=4)
          |--Var(x) x
          `--Var(w) w

What is read twice is written out once; elsewhere stands `(*n)`, n its place in the order of
writing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvm.relay.function import Function

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode


class TermVizParser(DefaultVizParser):
    """One line an expression."""

    def get_node_edges(
        self, node: Any, relay_param: Mapping[str, Any], node_to_id: Mapping[Any, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """The node of an expression; its details are in brackets behind its name."""
        made, edges = super().get_node_edges(node, relay_param, node_to_id)
        if made is None:
            return None, edges
        if isinstance(node, Function):
            names = ", ".join(f"Var({p.name_hint})" for p in node.params)
            return VizNode(made.identity, f"Func([{names}])", ""), edges
        name = made.type_name.removeprefix("Call ")
        if name.startswith("Var("):
            name = f"Var({node.name_hint})"
            return VizNode(made.identity, name, ""), edges
        detail = ", ".join(line.replace(": ", "=", 1) for line in made.detail.split("\n") if line)
        return VizNode(made.identity, name, detail), edges


class TermNode:
    """A node with what it reads."""

    def __init__(self, viz_node: VizNode) -> None:
        self.type = viz_node.type_name
        self.detail = viz_node.detail
        self.other_info = f"({viz_node.detail})" if viz_node.detail else ""
        self.children: list[str] = []


class TermGraph(VizGraph):
    """A function as a tree."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: dict[str, TermNode] = {}
        self._read: set[str] = set()

    def node(self, viz_node: VizNode) -> None:
        """Add a node."""
        self._nodes[viz_node.identity] = TermNode(viz_node)

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge; an end without a node is not shown."""
        if viz_edge.end in self._nodes:
            self._nodes[viz_edge.end].children.append(viz_edge.start)
            self._read.add(viz_edge.start)

    def render(self) -> str:
        """The text, from the results down."""
        lines: list[str] = []
        places: dict[str, int] = {}
        roots = [key for key in self._nodes if key not in self._read]
        # A place in the tree: the node, and how its line and those below begin.
        stack = [(key, "", "") for key in reversed([r for r in roots if self._is_root(r)])]
        while stack:
            key, begin, below = stack.pop()
            node = self._nodes[key]
            text = node.type + node.other_info
            if not begin:
                text = text.replace("Func", f"@{self._name}", 1)
            if key in places and node.children:
                lines.append(f"{begin}(*{places[key]}) {node.type}")
                continue
            places.setdefault(key, len(lines))
            lines.append(begin + text)
            shown = [child for child in node.children if child in self._nodes]
            for at in reversed(range(len(shown))):
                last = at == len(shown) - 1
                corner = "`--" if last else "|--"
                stack.append((shown[at], below + corner, below + ("   " if last else "|  ")))
        return "\n".join(lines)

    def _is_root(self, key: str) -> bool:
        """A parameter that nobody reads is named with the function."""
        return bool(self._nodes[key].children) or len(self._nodes) == 1


class TermPlotter(Plotter):
    """Prints trees, or writes them to a file."""

    def __init__(self) -> None:
        self._graphs: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> VizGraph:
        """A tree for the function of this name."""
        self._graphs[name] = TermGraph(name)
        return self._graphs[name]

    def render(self, filename: str | None) -> None:
        """Print the trees, or write them to the file `filename`."""
        text = "\n".join(graph.render() for graph in self._graphs.values()) + "\n"
        if filename is None:
            print(text, end="")
            return
        path = Path(filename)
        beside = path.with_name(f".{path.name}.part")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
