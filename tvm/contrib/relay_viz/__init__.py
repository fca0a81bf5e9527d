"""Graphs of Relay functions to look at: as a tree in the terminal, or for Graphviz.

    RelayVisualizer(mod).render()                                    # text
    RelayVisualizer(mod, plotter=DotPlotter()).render("net")         # net_main.pdf

A parser (`VizParser`) says what is told of an expression, a plotter (`Plotter`) how it looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.function import Function
from tvm.relay.traverse import post_order

from .dot import DotPlotter as DotPlotter
from .dot import DotVizParser as DotVizParser
from .interface import DefaultVizParser as DefaultVizParser
from .interface import Plotter as Plotter
from .interface import VizEdge as VizEdge
from .interface import VizGraph as VizGraph
from .interface import VizNode as VizNode
from .interface import VizParser as VizParser
from .terminal import TermPlotter, TermVizParser


class RelayVisualizer:
    """A drawing of each function of a module; `relay_param` names the parameters."""

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, Any] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ) -> None:
        self._plotter = TermPlotter() if plotter is None else plotter
        if parser is None:
            text = isinstance(self._plotter, TermPlotter)
            parser = TermVizParser() if text else DefaultVizParser()
        self._parser = parser
        self._params = dict(relay_param or {})
        others = [v for v in relay_mod.functions if v.name_hint != "main"]
        mains = [v for v in relay_mod.functions if v.name_hint == "main"]
        for var in [*mains, *others]:
            func = relay_mod[var]
            if isinstance(func, Function):
                self._add(func, self._plotter.create_graph(var.name_hint))

    def _add(self, func: Function, graph: VizGraph) -> None:
        exprs: list[Any] = list(dict.fromkeys([*func.params, *post_order(func)]))
        ids = {expr: str(at) for at, expr in enumerate(exprs)}
        for expr in exprs:
            node, edges = self._parser.get_node_edges(expr, self._params, ids)
            if node is not None:
                graph.node(node)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Show the drawings, or write them to files whose names begin with `filename`."""
        self._plotter.render(filename)


__all__ = [
    "DefaultVizParser", "DotPlotter", "DotVizParser", "Plotter", "RelayVisualizer", "TermPlotter",
    "TermVizParser", "VizEdge", "VizGraph", "VizNode", "VizParser",
]  # fmt: skip
