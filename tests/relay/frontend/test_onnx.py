"""ONNX models in Relay: against numpy, with weights as constants and as parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm import relay
from tvm.contrib import graph_executor

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)
W = RNG.uniform(-1, 1, (4, 3, 3, 3)).astype("float32")
B = RNG.uniform(-1, 1, 4).astype("float32")
X = RNG.uniform(-1, 1, (1, 3, 6, 6)).astype("float32")


def model(extent: Any = 1) -> Any:
    nodes = [
        helper.make_node("Conv", ["x", "conv.w", "conv.b"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("GlobalAveragePool", ["b"], ["c"]),
        helper.make_node("Flatten", ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [extent, 3, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [extent, 4])],
        [numpy_helper.from_array(W, "conv.w"), numpy_helper.from_array(B, "conv.b")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def wanted(x: Any) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    conv = np.einsum("nchwij,ocij->nohw", windows, W) + B[:, None, None]
    return np.maximum(conv, 0).mean((2, 3))


def test_weights_are_constants() -> None:
    mod, params = relay.frontend.from_onnx(model(), {"x": (1, 3, 6, 6)})
    assert params == {}
    assert [p.name_hint for p in mod["main"].params] == ["x"]
    runner = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu()))
    runner.run(x=X)
    np.testing.assert_allclose(runner.get_output(0).numpy(), wanted(X), rtol=1e-4, atol=1e-6)


def test_weights_are_parameters() -> None:
    mod, params = relay.frontend.from_onnx(model(), freeze_params=False)
    assert sorted(params) == ["conv.b", "conv.w"]
    assert [p.name_hint for p in mod["main"].params] == ["x", "conv.w", "conv.b"]
    for options in ({}, {"executor": relay.backend.Executor("aot")}):
        lib = relay.build(mod, "llvm", params=params, **options)
        runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
        runner.run(x=X)
        np.testing.assert_allclose(runner.get_output(0).numpy(), wanted(X), rtol=1e-4, atol=1e-6)
    exe = relay.vm.compile(mod, "llvm", params=params)
    machine = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    machine.set_input("main", x=X)
    for found in (machine.invoke("main", X), machine.run(), machine.get_outputs()[0]):
        np.testing.assert_allclose(found.numpy(), wanted(X), rtol=1e-4, atol=1e-6)
    assert exe.get_function_params("main") == ["x"]
    assert machine.get_input_index("x") == 0
    assert len(machine.benchmark(tvm.cpu(), X, repeat=2, number=1, end_to_end=True).results) == 2


@pytest.mark.parametrize("extent", [relay.Any(), None])
def test_extents_that_may_be_any(extent: Any) -> None:
    shape = None if extent is None else {"x": (extent, 3, 6, 6)}
    mod, _ = relay.frontend.from_onnx(model("batch"), shape)
    assert "Tensor[(?, 3, 6, 6), float32]" in str(mod)
    run = relay.create_executor("vm", mod).evaluate()
    for count in (1, 2):
        x = np.concatenate([X] * count)
        np.testing.assert_allclose(run(x).numpy(), wanted(x), rtol=1e-4, atol=1e-6)


def test_a_copy_with_names(tmp_path: Path) -> None:
    relay.frontend.from_onnx(model(), export_node_renamed_model_path=str(tmp_path / "out"))
    copy = onnx.load(tmp_path / "out" / "net_renamed.onnx")
    assert [node.name for node in copy.graph.node][:2] == ["Conv_0", "Relu_1"]


IMAGE = np.arange(12, dtype="float32").reshape(1, 1, 3, 4)


@pytest.mark.parametrize(
    ("op", "attrs", "data", "numbers", "wanted"),
    [
        ("Trilu", {"upper": 0}, IMAGE, [np.array(1, "int64")], np.tril(IMAGE, 1)),
        ("Tile", {}, IMAGE, [np.array([1, 2, 1, 2])], np.tile(IMAGE, (1, 2, 1, 2))),
        ("Pad", {"mode": "reflect"}, IMAGE, [np.array([0, 0, 1, 0, 0, 0, 0, 2])],
         np.pad(IMAGE, ((0, 0), (0, 0), (1, 0), (0, 2)), "reflect")),
        ("OneHot", {"axis": 0}, np.array([0, -1]), [np.array(3), np.array([0, 1], "float32")],
         np.eye(3, dtype="float32")[[0, -1]].T),
        ("Resize", {"mode": "nearest"}, IMAGE,
         [np.zeros(0, "float32"), np.array([1, 1, 2, 2], "float32")],
         IMAGE.repeat(2, 2).repeat(2, 3)),
    ],
)  # fmt: skip
def test_shapes_that_inputs_say(
    op: str, attrs: dict[str, Any], data: Any, numbers: list[Any], wanted: Any
) -> None:
    arrays = {"x": data, **{f"n{at}": array for at, array in enumerate(numbers)}}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in arrays.items()
    ]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node(op, list(arrays), ["y"], **attrs)
    graph = helper.make_graph([node], "g", infos, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    shapes = {name: a.shape for name, a in arrays.items()}
    mod, _ = relay.frontend.from_onnx(model, shapes, None)
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, mod).evaluate()(**arrays)
        np.testing.assert_allclose(found.numpy(), wanted)


def test_refuses() -> None:
    node = helper.make_node("Moon", ["x"], ["y"], domain="nowhere")
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([node], "g", [value], [out])
    with pytest.raises(tvm.error.OpNotImplemented, match="Moon"):
        relay.frontend.from_onnx(helper.make_model(graph))
    with pytest.raises(TypeError, match="no ONNX model"):
        relay.frontend.from_onnx("model.onnx")
