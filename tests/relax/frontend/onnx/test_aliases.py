"""Operators by other names, and those of the first sets, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def run(
    op: str, inputs: list[Any], weights: dict[int, Array] | None = None, outputs: int = 1,
    domain: str = "com.microsoft", opset: int = 17, **attrs: Any,
) -> None:  # fmt: skip
    arrays = {f"x{i}": array for i, array in enumerate(inputs)}
    given = {f"x{i}": array for i, array in (weights or {}).items()}
    names = sorted([*arrays, *given], key=lambda name: int(name[1:]))
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attrs)
    model = make_model([node], arrays, results, given, opset)
    check_sizes(model, [arrays], 1e-4)


X = floats(2, 3, 8)
IMAGE = floats(1, 3, 6, 6)


def test_operators_of_the_standard_set() -> None:
    run("Trilu", [X], {1: np.array(1)}, upper=0)
    run("GridSample", [IMAGE, floats(1, 3, 3, 2)])
    run("SampleOp", [X])
    run("GatherND", [floats(3, 4), np.array([[0], [2]])])
    run("Pad", [floats(2, 3)], {1: np.array([0, 1, 0, 2]), 2: np.array([2.0], "f4")})
    run("QuantizeLinear", [X], {1: np.float32([0.1, 0.2, 0.3]), 2: np.uint8([1, 2, 3])}, axis=1)
    run("ExpandDims", [X], {1: np.array(1, "int32")})
    run("TransposeMatMul", [floats(2, 3, 4), floats(2, 5, 4)], transB=1, alpha=0.5)


def test_products_with_the_batch_behind_the_rows() -> None:
    run("FusedMatMul", [floats(3, 2, 4), floats(2, 4, 5)], transBatchA=1)
    run("FusedMatMul", [floats(3, 2, 4), floats(5, 2, 4)], transBatchA=1, transBatchB=1, transB=1)


@pytest.mark.parametrize(
    ("name", "params"),
    [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-0.1, 0.2]),
     ("HardSigmoid", [0.3, 0.4])],
)  # fmt: skip
def test_convolutions_with_an_activation(name: str, params: list[float]) -> None:
    more = {"activation_params": params} if params else {}
    inputs = [floats(1, 4, 6, 6), floats(4, 4, 3, 3), floats(4), floats(1, 4, 6, 6)]
    run("FusedConv", inputs, activation=name, pads=[1] * 4, **more)


def test_products_with_an_activation() -> None:
    inputs = [floats(3, 4), floats(4, 5), floats(5)]
    run("FusedGemm", inputs, activation="LeakyRelu", activation_alpha=0.1)


def test_pads_of_an_input() -> None:
    inputs = [floats(1, 2, 4, 4), floats(2, 3, 3, 3)]
    pads = {2: np.array([1, 1, 1, 1])}
    run("ConvTransposeWithDynamicPads", inputs, pads, strides=[2, 2])


def test_norm_without_a_mean() -> None:
    run("SimplifiedLayerNormalization", [X, floats(8)], None, 2, "")


def test_small_things() -> None:
    run("Unique", [np.float32([3, 1, 3, 2, 1])], None, 3)
    run("CDist", [floats(3, 4), floats(5, 4)], metric="euclidean")
    run("CDist", [floats(3, 4), floats(5, 4)], metric="sqeuclidean")
    run("NGramRepeatBlock", [np.array([[1, 2, 3, 1, 2], [4] * 5]), floats(2, 7)], ngram_size=3)
    run("NGramRepeatBlock", [np.array([[1, 2], [4, 4]]), floats(2, 7)], ngram_size=3)  # none yet
    run("MemcpyFromHost", [floats(2, 3)], domain="")
    run("Inverse", [floats(2, 4, 4) + 2 * np.eye(4, dtype="float32")[::-1]])


def test_operators_of_the_first_sets() -> None:
    old: dict[str, Any] = {"domain": "", "opset": 7}
    run("Affine", [X], alpha=2.0, beta=1.0, **old)
    run("Scale", [X], scale=2.0, **old)
    run("ScaledTanh", [X], alpha=2.0, beta=0.5, **old)
    run("ParametricSoftplus", [X], alpha=2.0, beta=0.5, **old)
    run("ImageScaler", [IMAGE], scale=2.0, bias=[1.0, 2.0, 3.0], **old)
    run("Crop", [IMAGE], border=[1, 1, 1, 1], **old)
    run("Crop", [IMAGE], border=[1, 1, 1, 1], scale=[2, 3], **old)
    run("DynamicSlice", [floats(4, 5)], {1: np.array([1, 0]), 2: np.array([3, 4])}, **old)
