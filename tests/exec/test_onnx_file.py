from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm.exec.command import Mistake
from tvm.exec.onnx_file import load_model

pytestmark = pytest.mark.pure


@pytest.fixture
def model() -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", None, 3]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", None, 3])],
        [numpy_helper.from_array(np.zeros(3, np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_loads(model: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "m.onnx")
    assert load_model(tmp_path / "m.onnx") == model


def test_weights_in_another_file_that_is_gone(model: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(
        model,
        tmp_path / "m.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    assert load_model(tmp_path / "m.onnx").graph.initializer[0].name == "w"
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(Mistake, match=r"weights\.bin"):
        load_model(tmp_path / "m.onnx")


def test_no_operator_sets(model: onnx.ModelProto, tmp_path: Path) -> None:
    del model.opset_import[:]
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(Mistake, match="it has no operator set version"):
        load_model(tmp_path / "m.onnx")


def test_no_output(model: onnx.ModelProto, tmp_path: Path) -> None:
    del model.graph.output[:]
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(Mistake, match="its graph has no output"):
        load_model(tmp_path / "m.onnx")


@pytest.mark.parametrize("place", ["100000", "abc", "-5", "9" * 30])
def test_weights_beyond_their_file(model: onnx.ModelProto, tmp_path: Path, place: str) -> None:
    onnx.save(
        model,
        tmp_path / "m.onnx",
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
    )
    stored = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    entries = stored.graph.initializer[0].external_data
    for entry in entries:
        if entry.key == "offset":
            entries.remove(entry)
            break
    entry = entries.add()
    entry.key, entry.value = "offset", place
    (tmp_path / "m.onnx").write_bytes(stored.SerializeToString())
    with pytest.raises(Mistake, match="is not an ONNX model"):
        load_model(tmp_path / "m.onnx")


@pytest.mark.parametrize("name", ["m.json", "m.onnx", "m.textproto", "m.onnxtxt"])
def test_bytes_that_are_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'{"\xff\xfe": 1}')
    with pytest.raises(Mistake, match="is not an ONNX model"):
        load_model(tmp_path / name)
