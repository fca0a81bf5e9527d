"""Functions of Relay as trees and graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import relay_viz
from tvm.contrib.relay_viz import dot

pytestmark = pytest.mark.pure


def module() -> tvm.IRModule:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    y = relay.nn.relu(relay.nn.dense(x, w))
    parts = relay.split(y + relay.const(np.ones(4, "float32")), 2, axis=1)
    body = relay.Tuple([parts[0], relay.exp(y)])
    mod = tvm.IRModule({"other": relay.Function([z := relay.var("z")], z)})
    mod["main"] = relay.Function([x, w], body)
    return mod


def test_trees(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    viz = relay_viz.RelayVisualizer(module())
    viz.render()
    text = capsys.readouterr().out
    assert text == """@main([Var(x), Var(w)])
`--Tuple(fields=2)
   |--TupleGetItem(idx=0)
   |  `--split(indices_or_sections=2, axis=1)
   |     `--add
   |        |--nn.relu
   |        |  `--nn.dense(units=None, out_dtype=)
   |        |     |--Var(x)
   |        |     `--Var(w)
   |        `--Const(shape=(4,), dtype=float32)
   `--exp
      `--(*5) nn.relu
@other([Var(z)])
`--Var(z)
"""
    viz.render(str(tmp_path / "net.txt"))
    assert (tmp_path / "net.txt").read_text() == text
    assert [p.name for p in tmp_path.iterdir()] == ["net.txt"]


def test_graphs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def shape_of(node: relay_viz.VizNode) -> dict[str, str]:
        return {"shape": "box" if "nn.dense" in node.type_name else "ellipse"}

    plotter = relay_viz.DotPlotter({"color": "red"}, None, {"style": "dashed"}, shape_of)
    viz = relay_viz.RelayVisualizer(module(), {"w": None}, plotter, relay_viz.DotVizParser())
    monkeypatch.setattr(dot.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="the program `dot` is not there"):
        viz.render(str(tmp_path / "net"))
    lines = (tmp_path / "net_main").read_text().splitlines()
    assert lines[0] == 'digraph "main" {'
    assert '\tgraph [color="red"]' in lines
    assert '\tedge [style="dashed"]' in lines
    label = 'label="Var(Param)\\nname_hint: w\\nshape: (4, 3)\\ndtype: float32"'
    assert f'\t"1" [{label} shape="ellipse"]' in lines
    dense = next(line for line in lines if "nn.dense" in line)
    assert dense.endswith('shape="box"]')
    number = dense.split()[0]
    assert f'\t"0" -> {number}' in lines
    assert f'\t"1" -> {number}' in lines


def test_what_a_parser_hides() -> None:
    class OnlyCalls(relay_viz.DefaultVizParser):
        def get_node_edges(
            self, node: Any, relay_param: Mapping[str, Any], node_to_id: Mapping[Any, str]
        ) -> tuple[relay_viz.VizNode | None, list[relay_viz.VizEdge]]:
            made, edges = super().get_node_edges(node, relay_param, node_to_id)
            return (made, edges) if isinstance(node, relay.Call) else (None, [])

    class Names(relay_viz.Plotter, relay_viz.VizGraph):
        def __init__(self) -> None:
            self.nodes: list[relay_viz.VizNode] = []

        def create_graph(self, name: str) -> relay_viz.VizGraph:
            return self

        def node(self, viz_node: relay_viz.VizNode) -> None:
            self.nodes.append(viz_node)

        def edge(self, viz_edge: relay_viz.VizEdge) -> None:
            pass

        def render(self, filename: str | None) -> None:
            pass

    plotter = Names()
    relay_viz.RelayVisualizer(module(), None, plotter, OnlyCalls()).render()
    assert [n.type_name for n in plotter.nodes] == [
        "Call nn.dense", "Call nn.relu", "Call add", "Call split", "Call exp",
    ]  # fmt: skip
    assert plotter.nodes[3].detail == "indices_or_sections: 2\naxis: 1"
