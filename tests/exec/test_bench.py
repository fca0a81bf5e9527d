"""`tvm bench` of a model, by itself and beside other runtimes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from tvm.exec import peers
from tvm.exec.cli import main
from tvm.exec.peers import compare, peer_names

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """relu(x @ w) with named nodes."""
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    w = onnx.numpy_helper.from_array(np.eye(8, dtype="float32"), "w")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["y"], name="product"),
            helper.make_node("Softmax", ["y"], ["z"], name="shares"),
        ],
        "net",
        [helper.make_tensor_value_info("x", kinds.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("z", kinds.FLOAT, [4, 8])],
        [w],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(made, str(path))
    return path


def test_a_model_is_compiled_first(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(model), "--number", "1", "--repeat", "2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["latency_s"]["min"] > 0
    assert [kernel["sources"] for kernel in record["kernels"]] == [["product"], ["shares"]]


def test_other_runtimes_run_in_turns(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    words = ["bench", str(model), "--vs", "onnxruntime", "--repeat", "1"]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    (peer,) = record["vs"]["peers"]
    assert peer["ratio"] == pytest.approx(peer["min_s"] / record["vs"]["ours_s"])
    assert peer["difference"] < 1e-5
    assert [row["nodes"] for row in record["nodes"]] == [["product"], ["shares"]]
    assert all(row["onnxruntime_s"] > 0 for row in record["nodes"])
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "times ours" in told
    assert "product" in told


def test_ratios_are_of_the_fastest_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 4.0, 10.0, 12.0, 20.0, 21.0, 30.0, 33.0])
    monkeypatch.setattr(peers.time, "perf_counter", lambda: next(clock))
    monkeypatch.setitem(peers.PEERS, "onnxruntime", lambda *_: lambda: [np.array([1.0, 2.1])])
    ours, (peer,) = compare(
        ["onnxruntime"], Path("m"), lambda: [np.array([1.0, 2.0])], [], 1, turns=2
    )
    assert ours == 1.0
    assert (peer.min_s, peer.median_s, peer.ratio) == (2.0, 2.5, 2.0)
    assert peer.difference == pytest.approx(0.1 / 2.1)


def test_names_of_runtimes() -> None:
    assert peer_names("onnxruntime, openvino") == ["onnxruntime", "openvino"]
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean 'openvino'"):
        peer_names("openvin")


def test_only_onnx_can_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "net.py", "--vs", "onnxruntime"]) == 1
    assert "legal: a .onnx file" in capsys.readouterr().err
