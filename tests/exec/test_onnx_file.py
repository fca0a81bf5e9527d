from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm.exec.command import Mistake
from tvm.exec.onnx_file import check_shapes, input_shapes, load_model

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


def test_weights_are_no_inputs(model: onnx.ModelProto) -> None:
    assert input_shapes(model) == {"x": ["n", "?", 3]}


def test_shapes_that_fit(model: onnx.ModelProto) -> None:
    check_shapes(model, {"x": [5, 6, 3]})
    check_shapes(model, {})


@pytest.mark.parametrize("shape", [[5, 6, 4], [5, 3], [1, 5, 6, 3]])
def test_shapes_that_do_not_fit(model: onnx.ModelProto, shape: list[int]) -> None:
    with pytest.raises(Mistake, match=r"legal: \[n, \?, 3\]"):
        check_shapes(model, {"x": shape})


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
