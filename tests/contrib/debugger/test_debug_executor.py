"""Graphs run kernel by kernel: values, times, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib.debugger import debug_executor
from tvm.runtime import load_param_dict

pytestmark = pytest.mark.cpu
W = np.random.default_rng(0).uniform(-1, 1, (4, 3)).astype("float32")


@pytest.fixture(scope="module")
def lib() -> Any:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    halves = relay.split(relay.nn.dense(x, w), 2, axis=1)
    body = relay.nn.softmax(halves[0] * relay.nn.softmax(halves[1]))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], body))
    return relay.build(mod, "llvm", params={"w": W})


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_values_between_kernels(lib: Any) -> None:
    runner = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu())
    x = np.random.default_rng(1).uniform(-1, 1, (2, 3)).astype("float32")
    runner.run(x=x)
    y = x @ W.T
    np.testing.assert_allclose(
        runner.get_output(0).numpy(), softmax(y[:, :2] * softmax(y[:, 2:])), rtol=1e-5
    )
    nodes = json.loads(lib.get_graph_json())["nodes"]
    dense = next(at for at, node in enumerate(nodes) if "dense" in node["name"])
    found = runner.debug_get_output(dense).numpy()
    expected = y if found.shape == y.shape else y[:, : found.shape[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    out = tvm.nd.array(np.zeros((2, 3), "float32"))
    runner.debug_get_output("x", out)
    np.testing.assert_array_equal(out.numpy(), x)
    again = runner.execute_node(nodes[-1]["name"])
    np.testing.assert_array_equal(again.numpy(), runner.get_output(0).numpy())


def test_times(lib: Any) -> None:
    runner = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu())
    times = runner.run_individual(number=1, repeat=2, min_repeat_ms=0)
    nodes = json.loads(lib.get_graph_json())["nodes"]
    assert len(times) == len(nodes)
    for node, spent in zip(nodes, times):
        assert len(spent) == 2
        assert (spent[0] > 0) is (node["op"] != "null")
    assert runner.run_individual_node(len(nodes) - 1, number=1, repeat=3).results[2] > 0
    report = runner.profile(x=np.zeros((2, 3), "float32"))
    assert "fused_nn_softmax" in report.csv()


def test_files(lib: Any, tmp_path: Path) -> None:
    runner = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu(), str(tmp_path / "dump"))
    folder = tmp_path / "dump" / "_tvmdbg_device_CPU_0"
    assert [path.name for path in folder.iterdir()] == ["_tvmdbg_graph_dump.json"]
    runner.run(x=np.ones((2, 3), "float32"))
    graph = json.loads((folder / "_tvmdbg_graph_dump.json").read_text())
    assert graph["nodes"][0]["op"] == "param"
    assert graph["heads"] == json.loads(lib.get_graph_json())["heads"]
    values = load_param_dict((folder / "output_tensors.params").read_bytes())
    given = values["x____topo-index:0____output-num:0"]
    np.testing.assert_array_equal(given.numpy(), np.ones((2, 3), "float32"))
    assert "fused_nn_softmax" in runner.debug_datum.get_debug_result()
    runner.exit()
    assert (tmp_path / "dump").exists()
    assert not folder.exists()


def test_without_a_folder_files_are_there_until_the_end(lib: Any) -> None:
    runner = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu())
    assert Path(runner._dump_path).name == "_tvmdbg_device_CPU_0"
    assert Path(runner._dump_root).name.startswith("tvmdbg_")
    runner.exit()
    assert not Path(runner._dump_root).exists()


def test_a_list_of_devices(lib: Any) -> None:
    graph = lib.get_graph_json()
    debug_executor.create(graph, lib, [tvm.cpu()]).run(x=np.ones((2, 3), "float32"))
    with pytest.raises(ValueError, match="dev has to be the type of Device or a list of Device"):
        debug_executor.create(graph, lib, "cpu")


def test_refuses(lib: Any) -> None:
    runner = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu())
    with pytest.raises(tvm.TVMError, match="no node 'moon'"):
        runner.debug_get_output("moon")
    with pytest.raises(ValueError, match="is not supported"):
        debug_executor.create(lib, lib, tvm.cpu())  # type: ignore[arg-type]
