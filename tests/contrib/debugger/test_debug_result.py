"""What a run of a graph left: nodes, values, a table of times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm.contrib.debugger.debug_result import CHROME_TRACE_FILE_NAME, DebugResult

pytestmark = pytest.mark.pure
GRAPH: dict[str, Any] = {
    "nodes": [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "tvm_op", "name": "fused_a", "inputs": [[0, 0, 0]], "attrs": {"num_outputs": "2"}},
        {"op": "tvm_op", "name": "fused_b", "inputs": [[1, 1, 0]],
         "attrs": {"num_outputs": "1", "func_name": "b"}},
    ],
    "attrs": {
        "shape": ["list_shape", [[2], [2], [2], [4]]],
        "dltype": ["list_str", ["int8", "int8", "int8", "float32"]],
    },
}  # fmt: skip


def test_a_table_of_times(capsys: pytest.CaptureFixture[str]) -> None:
    found = DebugResult(json.dumps(GRAPH), None)
    found.times = [[0.0], [1e-6], [3e-6]]
    lines = [line.split() for line in found.get_debug_result().splitlines()]
    assert lines[0][:4] == ["Node", "Name", "Ops", "Time(us)"]
    assert lines[2] == ["fused_b", "b", "3.0", "75.0", "(4,)", "1", "1", "[3.0]"]
    assert [line[0] for line in lines[3:]] == ["fused_a", "fused_a", "Total_time"]  # two outputs
    assert len(found.get_debug_result(sort_by_time=False).splitlines()) == 5
    found.display_debug_result()
    assert "fused_b" in capsys.readouterr().out


def test_nodes_are_told_with_types_and_the_names_of_their_inputs() -> None:
    found = DebugResult(json.dumps(GRAPH), None)
    x, a, b = found.get_graph_nodes()
    assert (x["op"], x["shape"], x["attrs"]) == ("param", [2], {"T": "type: int8"})
    assert (a["op"], b["op"], b["inputs"]) == ("fused_a", "b", ["fused_a"])
    assert (b["shape"], b["attrs"]["T"]) == ([4], "type: float32")
    assert found.get_graph_node_shapes()[1] == [[2], [2], [2], [4]]
    assert found.get_graph_node_dtypes()[1][-1] == "float32"


def test_files_are_written_into_a_folder(tmp_path: Path) -> None:
    DebugResult(json.dumps(GRAPH), None).dump_output_tensor()  # without a folder: nothing
    found = DebugResult(json.dumps(GRAPH), str(tmp_path / "a" / "b"))
    found.times = [[0.0], [1e-6], [3e-6, 5e-6]]
    found.update_output_tensors([tvm.nd.array(np.arange(3, dtype="int32"))] * 4)
    found.dump_output_tensor()
    found.dump_chrome_trace()
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "_tvmdbg_execution_trace.json", "_tvmdbg_graph_dump.json", "output_tensors.params",
    ]  # fmt: skip
    assert list(found.get_output_tensors())[2] == "fused_a____topo-index:1____output-num:1"
    trace = json.loads((tmp_path / "a" / "b" / CHROME_TRACE_FILE_NAME).read_text())
    begins = [(e["name"], e["ts"]) for e in trace["traceEvents"] if e["ph"] == "B"]
    assert begins == [("x", 0.0), ("fused_a", 0.0), ("fused_b", pytest.approx(1.0))]
    assert trace["traceEvents"][-1]["ts"] == pytest.approx(5.0)
