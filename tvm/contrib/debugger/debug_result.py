"""What a run of a graph left: its nodes with their times, and their values, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tvm.runtime.files import write_beside
from tvm.runtime.params import save_param_dict
from tvm.support.json_text import from_json

GRAPH_DUMP_FILE_NAME: Final = "_tvmdbg_graph_dump.json"
TENSORS_DUMP_FILE_NAME: Final = "output_tensors.params"


class DebugResult:
    """The nodes of a graph with what the last run gave; written when there is a folder."""

    def __init__(self, graph_json: str, dump_path: Path | None) -> None:
        self.graph: dict[str, Any] = from_json(graph_json)
        self.dump_path = dump_path
        self.times: Sequence[Sequence[float]] = ()
        self.outputs: Mapping[str, Any] = {}

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """The nodes in order."""
        return list(self.graph["nodes"])

    def get_graph_node_output_num(self, node: Mapping[str, Any]) -> int:
        """How many tensors a node gives."""
        return int(node.get("attrs", {}).get("num_outputs", 1))

    def get_output_tensors(self) -> dict[str, Any]:
        """The values of the last run by node and number of the output."""
        return dict(self.outputs)

    def dump(self) -> None:
        """Write graph and values into the folder."""
        if self.dump_path is None:
            return
        self.dump_path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.graph, indent=4, sort_keys=False).encode()
        write_beside(self.dump_path / GRAPH_DUMP_FILE_NAME, text)
        write_beside(self.dump_path / TENSORS_DUMP_FILE_NAME, save_param_dict(dict(self.outputs)))

    def display_debug_result(self, sort_by_time: bool = True) -> str:
        """A table of the nodes: name, time in microseconds, share, number of outputs."""
        total = sum(times[0] for times in self.times) or 1.0
        rows = [
            (node["name"], times[0] * 1e6, 100 * times[0] / total,
             self.get_graph_node_output_num(node))
            for node, times in zip(self.get_graph_nodes(), self.times)
            if node["op"] != "null"
        ]  # fmt: skip
        if sort_by_time:
            rows.sort(key=lambda row: -row[1])
        width = max([len(row[0]) for row in rows], default=4)
        lines = [f"{'Node':<{width}}  {'Time(us)':>10}  {'Time(%)':>8}  {'Outputs':>7}"]
        lines += [f"{n:<{width}}  {us:>10.3f}  {part:>8.3f}  {k:>7}" for n, us, part, k in rows]
        shown = "\n".join(lines)
        print(shown)
        return shown
