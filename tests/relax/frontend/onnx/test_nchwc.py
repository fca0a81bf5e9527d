"""Files that ONNX Runtime saved with its layout of channels in blocks, against itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import (
    Array,
    check_sizes,
    make_model,
    run_compiled,
    run_onnx,
)
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)
BLOCKED = "com.microsoft.nchwc"


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.3).astype("float32")


def saved(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """The model as ONNX Runtime saves it for this machine."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath, options.log_severity_level = str(path), 4
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    return onnx.load(str(path))


def two_sizes(channels: int = 3) -> list[dict[str, Array]]:
    return [{"x": floats(1, channels, 12, 11)}, {"x": floats(3, channels, 9, 14)}]


PICTURES = {"x": ("n", 3, "h", "w")}


def network() -> onnx.ModelProto:
    """Convolutions of all kinds, pools, activations, sums, gates."""
    weights = {
        "w0": floats(20, 3, 3, 3), "b0": floats(20), "w1": floats(32, 20, 1, 1), "b1": floats(32),
        "w2": floats(32, 1, 3, 3), "w3": floats(32, 16, 3, 3), "w4": floats(32, 32, 1, 1),
        "w5": floats(40, 32, 3, 3), "w6": floats(18, 40, 1, 1), "low": np.float32(0),
        "high": np.float32(1),
    }  # fmt: skip
    node: Any = helper.make_node
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], strides=[2, 2], **pads),
        node("Relu", ["c0"], ["r0"]),
        node("Conv", ["r0", "w1", "b1"], ["c1"]),
        node("LeakyRelu", ["c1"], ["m1"], alpha=0.2),
        node("Conv", ["m1", "w2"], ["c2"], group=32, **pads),
        node("Clip", ["c2", "low", "high"], ["k2"]),
        node("Conv", ["k2", "w3"], ["c3"], group=2, **pads),
        node("Add", ["c3", "m1"], ["a3"]),
        node("Relu", ["a3"], ["r3"]),
        node("GlobalAveragePool", ["r3"], ["g"]),
        node("Conv", ["g", "w4"], ["c4"]),
        node("HardSigmoid", ["c4"], ["h4"], alpha=0.2, beta=0.5),
        node("Mul", ["h4", "r3"], ["m4"]),
        node("AveragePool", ["m4"], ["p"], kernel_shape=[3, 3], count_include_pad=1, **pads),
        node("Conv", ["p", "w5"], ["c5"], auto_pad="SAME_UPPER", strides=[2, 2]),
        node("MaxPool", ["c5"], ["p5"], kernel_shape=[2, 2]),
        node("Conv", ["p5", "w6"], ["y"]),
        node("GlobalMaxPool", ["y"], ["z"]),
    ]
    return make_model(nodes, two_sizes()[0], ["y", "z"], weights, shapes=PICTURES)


@pytest.mark.parametrize("open_", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_network_saved_for_this_machine(open_: bool, tmp_path: Path) -> None:
    model = saved(network(), tmp_path / "saved.onnx")
    kinds = {node.op_type for node in model.graph.node if node.domain == BLOCKED}
    assert {"Conv", "ReorderOutput", "AveragePool", "GlobalAveragePool"} <= kinds
    if open_:  # seven convolutions for any size take ten times as long to compile
        check_sizes(model, two_sizes(), 1e-4)
    else:
        for feeds in two_sizes():
            check_sizes(model, [feeds], 1e-4, shape_dict={"x": list(feeds["x"].shape)})


@pytest.mark.parametrize(
    ("mode", "coordinates"),
    [("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")],
)
def test_upsampling_between_convolutions(mode: str, coordinates: str, tmp_path: Path) -> None:
    """Of 20 channels, filled up to whole blocks."""
    weights = {"w0": floats(20, 3, 3, 3), "w1": floats(20, 1, 3, 3), "w2": floats(24, 20, 2, 2),
               "s": np.array([1, 1, 2, 3], "float32")}  # fmt: skip
    how = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": "floor"}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"]),
        helper.make_node("Conv", ["a", "w1"], ["b"], group=20),
        helper.make_node("Resize", ["b", "", "s"], ["c"], **how),
        helper.make_node("Conv", ["c", "w2"], ["y"]),
    ]
    model = make_model(nodes, two_sizes()[0], ["y"], weights, shapes=PICTURES)
    check_sizes(saved(model, tmp_path / "saved.onnx"), two_sizes(), 1e-4)


def test_channels_last_on_both_sides(tmp_path: Path) -> None:
    turned = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"]),
        helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1]),
    ]
    feeds = [{"x": floats(2, 7, 5, 32)}, {"x": floats(1, 3, 8, 32)}]
    shapes = {"x": ("n", "h", "w", 32)}
    model = make_model(turned, feeds[0], ["y"], {"w": floats(18, 32, 2, 2)}, shapes=shapes)
    model = saved(model, tmp_path / "saved.onnx")
    assert any(a.name == "channels_last" and a.i for n in model.graph.node for a in n.attribute)
    check_sizes(model, feeds, 1e-4)


def in_blocks(weight: Array, block: int) -> Array:
    """Filters as they lie in blocks."""
    outer, inner, *window = weight.shape
    some = block if inner % block == 0 else 1
    parts = weight.reshape(outer // block, block, inner // some, some, *window)
    return np.ascontiguousarray(parts.transpose(0, 2, 4, 5, 3, 1)).reshape(weight.shape)


def blocks_of_eight(weight: Array, inner: Array) -> onnx.ModelProto:
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["a"], domain=BLOCKED, activation="Relu"),
        node("Conv", ["a", "v"], ["b"], domain=BLOCKED),
        node("ReorderOutput", ["b"], ["y"], domain=BLOCKED, channels=13),
    ]
    weights = {"w": in_blocks(weight, 8), "v": in_blocks(inner, 8)}
    feeds = two_sizes()[0]
    return make_model(nodes, feeds, ["y"], weights, shapes=PICTURES, domains={BLOCKED: 1})


@pytest.mark.parametrize("outputs", [16, 24])
def test_blocks_of_eight_whatever_the_machine(outputs: int) -> None:
    """Filters that are no blocks of 16 tell; those of 16 beside them are of 8 as well."""
    weight, inner = floats(40 - outputs, 3, 3, 3), floats(outputs, 40 - outputs, 2, 2)
    node = helper.make_node
    plain = [node("Conv", ["x", "w"], ["a"]), node("Relu", ["a"], ["r"]),
             node("Conv", ["r", "v"], ["b"])]  # fmt: skip
    for feeds in two_sizes():
        model = make_model(plain, feeds, ["b"], {"w": weight, "v": inner})
        wanted = run_onnx(model, feeds)[0][:, :13]
        (got,) = run_compiled(blocks_of_eight(weight, inner), feeds)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_filters_that_fill_no_blocks_are_refused() -> None:
    model = blocks_of_eight(floats(24, 3, 3, 3), floats(24, 24, 2, 2))
    for tensor in model.graph.initializer:
        if tensor.name == "w":
            tensor.CopyFrom(onnx.numpy_helper.from_array(floats(12, 3, 3, 3), "w"))
    with pytest.raises(OpAttributeInvalid, match="multiple of 8 filters"):
        from_onnx(model)
