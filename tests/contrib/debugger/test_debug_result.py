"""What a run of a graph left: nodes, values, a table of times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm.contrib.debugger.debug_result import DebugResult

pytestmark = pytest.mark.pure
GRAPH: dict[str, Any] = {
    "nodes": [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "tvm_op", "name": "fused_a", "inputs": [[0, 0, 0]], "attrs": {"num_outputs": "2"}},
        {"op": "tvm_op", "name": "fused_b", "inputs": [[1, 1, 0]], "attrs": {"num_outputs": "1"}},
    ]
}


def test_a_table_of_times(capsys: pytest.CaptureFixture[str]) -> None:
    found = DebugResult(json.dumps(GRAPH), None)
    found.times = [[0.0], [1e-6], [3e-6]]
    lines = [line.split() for line in found.display_debug_result().splitlines()]
    assert lines[1:] == [["fused_b", "3.000", "75.000", "1"], ["fused_a", "1.000", "25.000", "2"]]
    assert found.display_debug_result(sort_by_time=False).splitlines()[1].startswith("fused_a")
    assert "fused_b" in capsys.readouterr().out


def test_files_are_written_into_a_folder(tmp_path: Path) -> None:
    DebugResult(json.dumps(GRAPH), None).dump()  # without a folder: nothing
    found = DebugResult(json.dumps(GRAPH), tmp_path / "a" / "b")
    found.outputs = {"fused_a____0": tvm.nd.array(np.arange(3, dtype="int32"))}
    found.dump()
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "_tvmdbg_graph_dump.json",
        "output_tensors.params",
    ]
    assert [node["name"] for node in found.get_graph_nodes()] == ["x", "fused_a", "fused_b"]
    assert list(found.get_output_tensors()) == ["fused_a____0"]
