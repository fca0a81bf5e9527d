"""What a run of a graph left: its nodes with their times, and their values, as files.

    _tvmdbg_graph_dump.json         the graph, its nodes with types and the names of their inputs
    output_tensors.params           the values of the last run
    _tvmdbg_execution_trace.json    when nodes began and ended, for chrome://tracing
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tvm.runtime.files import write_beside
from tvm.runtime.params import save_param_dict
from tvm.support.json_text import from_json

GRAPH_DUMP_FILE_NAME: Final = "_tvmdbg_graph_dump.json"
CHROME_TRACE_FILE_NAME: Final = "_tvmdbg_execution_trace.json"
TENSORS_DUMP_FILE_NAME: Final = "output_tensors.params"
_HEADER: Final = (
    "Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)",
)  # fmt: skip


class ChromeTraceEvent(NamedTuple):
    """When (microseconds) something begins ("B") or ends ("E")."""

    ts: float
    tid: int
    pid: int
    name: str
    ph: str


class DebugResult:
    """The nodes of a graph with what the last run gave; written when there is a folder."""

    def __init__(self, graph_json: str, dump_path: str | Path | None) -> None:
        self.graph: dict[str, Any] = from_json(graph_json)
        self.dump_path = None if dump_path is None else Path(dump_path)
        self.times: Sequence[Sequence[float]] = ()
        self.outputs: Mapping[str, Any] = {}
        self._parse_graph()
        self.dump_graph_json(self.graph)

    def _parse_graph(self) -> None:
        """Nodes are told with the operator, type and extents of their first output."""
        nodes = self.graph["nodes"]
        shapes, kinds = self._listed("shape"), self._listed("dltype")
        names, at = [node["name"] for node in nodes], 0
        for node in nodes:
            attrs = node.setdefault("attrs", {})
            node["op"] = "param" if node["op"] == "null" else attrs.get("func_name", node["name"])
            node["inputs"] = [names[entry[0]] for entry in node["inputs"]]
            if at < len(kinds):
                attrs["T"] = f"type: {kinds[at]}"
            if at < len(shapes):
                node["shape"] = shapes[at]
            at += self.get_graph_node_output_num(node)

    def _listed(self, name: str) -> Sequence[Any]:
        """One entry for every output of every node; none where the graph says nothing."""
        found: Sequence[Any] = self.graph.get("attrs", {}).get(name, ("", ()))[1]
        return found

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """The nodes in order."""
        return list(self.graph["nodes"])

    def get_graph_node_shapes(self) -> Any:
        """The extents of all outputs, behind a word for what the list holds."""
        return self.graph["attrs"]["shape"]

    def get_graph_node_dtypes(self) -> Any:
        """The data types of all outputs, behind a word for what the list holds."""
        return self.graph["attrs"]["dltype"]

    def get_graph_node_output_num(self, node: Mapping[str, Any]) -> int:
        """How many tensors a node gives."""
        return int(node.get("attrs", {}).get("num_outputs", 1))

    def get_output_tensors(self) -> dict[str, Any]:
        """The values of the last run by node and number of the output."""
        return dict(self.outputs)

    def update_output_tensors(self, tensors: Sequence[Any]) -> None:
        """Take the values of all outputs, in order."""
        self.outputs = dict(zip(self._output_names(), tensors))

    def _output_names(self) -> Iterator[str]:
        for index, node in enumerate(self.graph["nodes"]):
            for at in range(self.get_graph_node_output_num(node)):
                yield f"{node['name']}____topo-index:{index}____output-num:{at}"

    def dump_output_tensor(self) -> None:
        """Write the values into the folder."""
        self._write(TENSORS_DUMP_FILE_NAME, save_tensors(self.outputs))

    def dump_chrome_trace(self) -> None:
        """Write when each node began and ended, one after the other."""
        events, now = list[dict[str, Any]](), 0.0
        for node, times in zip(self.graph["nodes"], self.times):
            spent = 1e6 * sum(times) / max(len(times), 1)
            for when, kind in ((now, "B"), (now + spent, "E")):
                events.append(ChromeTraceEvent(when, 1, 1, node["name"], kind)._asdict())
            now += spent
        result = {"displayTimeUnit": "ns", "traceEvents": events}
        self._write(CHROME_TRACE_FILE_NAME, json.dumps(result).encode())

    def dump_graph_json(self, graph: Mapping[str, Any]) -> None:
        """Write a graph into the folder."""
        self._write(GRAPH_DUMP_FILE_NAME, json.dumps(graph, indent=4, sort_keys=False).encode())

    def _write(self, name: str, data: bytes) -> None:
        if self.dump_path is not None:
            self.dump_path.mkdir(parents=True, exist_ok=True)
            write_beside(self.dump_path / name, data)

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """A table of the nodes, a line an output; with a sum where the longest comes first."""
        total = sum(_mean(times) for times in self.times)
        shapes, at = self._listed("shape"), 0
        rows = list[tuple[float, list[str]]]()
        for node, times in zip(self.graph["nodes"], self.times):
            count, spent = self.get_graph_node_output_num(node), _mean(times)
            for output in range(count if node["op"] != "param" else 0):
                known = at + output < len(shapes)
                share = round(100 * spent / total, 3) if total else 0.0
                measured = [round(one * 1e6, 3) for one in times]
                rows.append((spent, [
                    node["name"], node["op"], str(round(spent * 1e6, 3)), str(share),
                    str(tuple(shapes[at + output])) if known else "-",
                    str(len(node["inputs"])), str(count), str(measured),
                ]))  # fmt: skip
            at += count
        if sort_by_time:
            rows.sort(key=lambda row: -row[0])
            whole = str(round(total * 1e6, 3))
            rows.append((0.0, ["Total_time", "-", whole, "-", "-", "-", "-", "-"]))
        lines = [list(_HEADER), ["-" * len(word) for word in _HEADER], *(row for _, row in rows)]
        widths = [max(len(cells[column]) for cells in lines) for column in range(len(_HEADER))]
        return "\n".join(
            "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths)) for cells in lines
        )

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        """Print the table."""
        print(self.get_debug_result(sort_by_time))


def _mean(times: Sequence[float]) -> float:
    return sum(times) / len(times) if times else 0.0


def save_tensors(params: Mapping[str, Any]) -> bytes:
    """Tensors by name as bytes that `load_params` reads."""
    return bytes(save_param_dict(dict(params)))
