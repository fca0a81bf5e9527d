"""Functions as graphs for Graphviz.

    DotPlotter(graph_attr={"color": "red"}, get_node_attr=lambda node: {"fillcolor": "green"})
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode

Attrs = Mapping[str, str]


class DotVizParser(DefaultVizParser):
    """What is told of expressions by default."""


class DotGraph(VizGraph):
    """A function as a graph; the attributes are those of Graphviz."""

    def __init__(
        self,
        name: str,
        graph_attr: Attrs | None = None,
        node_attr: Attrs | None = None,
        edge_attr: Attrs | None = None,
        get_node_attr: Callable[[VizNode], Attrs] | None = None,
    ) -> None:
        self._name = name
        self._defaults = {"graph": graph_attr, "node": node_attr, "edge": edge_attr}
        self._get_node_attr = get_node_attr
        self._lines: list[str] = []

    def node(self, viz_node: VizNode) -> None:
        """Add a node: what it is, then the details, a line each."""
        label = "\n".join([viz_node.type_name, viz_node.detail]).strip()
        given = {} if self._get_node_attr is None else dict(self._get_node_attr(viz_node))
        self._lines.append(f"{_quoted(viz_node.identity)}{_attrs({'label': label, **given})}")

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""
        self._lines.append(f"{_quoted(viz_edge.start)} -> {_quoted(viz_edge.end)}")

    @property
    def digraph(self) -> str:
        """The graph in the language of Graphviz."""
        defaults = [f"{what}{_attrs(given)}" for what, given in self._defaults.items() if given]
        body = "".join(f"\t{line}\n" for line in [*defaults, *self._lines])
        return f"digraph {_quoted(self._name)} {{\n{body}}}\n"

    def render(self, filename: str) -> None:
        """Write `filename` in the language of Graphviz, and `filename`.pdf by its program `dot`."""
        path = Path(filename)
        beside = path.with_name(f".{path.name}.part")
        beside.write_text(self.digraph, encoding="utf-8")
        os.replace(beside, path)
        dot = shutil.which("dot")
        if dot is None:
            raise RuntimeError(
                f"relay_viz: the program `dot` is not there; found: {path} was written in its "
                "language; legal: Graphviz in PATH"
            )
        subprocess.run([dot, "-Tpdf", "-O", str(path)], check=True)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _attrs(given: Attrs) -> str:
    return f" [{' '.join(f'{name}={_quoted(str(value))}' for name, value in given.items())}]"


class DotPlotter(Plotter):
    """Graphs for Graphviz with these attributes; `get_node_attr` gives those of one node."""

    def __init__(
        self,
        graph_attr: Attrs | None = None,
        node_attr: Attrs | None = None,
        edge_attr: Attrs | None = None,
        get_node_attr: Callable[[VizNode], Attrs] | None = None,
    ) -> None:
        self._attrs = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._graphs: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> VizGraph:
        """A graph for the function of this name."""
        self._graphs[name] = DotGraph(name, *self._attrs)
        return self._graphs[name]

    def render(self, filename: str | None = None) -> None:
        """Write each graph to `<filename>_<function>`, and that with `.pdf` behind it."""
        for name, graph in self._graphs.items():
            graph.render(f"{'graph' if filename is None else filename}_{name}")
