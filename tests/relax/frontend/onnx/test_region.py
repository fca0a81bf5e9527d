"""Regions and patches of images, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check, check_sizes, make_model, run_compiled
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(2)
IMAGE = RNG.standard_normal((2, 3, 10, 12)).astype("float32")
BOXES = np.array([[0, 0, 9, 9], [2.5, 1, 7, 8.25], [-1, -2, 30, 40], [4, 4, 4, 4]], "float32")
WHICH = np.array([0, 1, 1, 0], "int64")


def _check(
    op: str, inputs: dict[str, Array], opset: int, weights: Any = None, **attrs: Any
) -> None:
    node = helper.make_node(op, [*inputs, *(weights or {})], ["y"], **attrs)
    check(make_model([node], inputs, ["y"], weights, opset=opset), inputs, rtol=1e-4)


@pytest.mark.parametrize(
    ("opset", "attrs"),
    [
        (16, {"sampling_ratio": 2}), (16, {"sampling_ratio": 2, "mode": "max"}),
        (16, {"coordinate_transformation_mode": "output_half_pixel", "sampling_ratio": 3}),
        (10, {"sampling_ratio": 2}),
    ],
)  # fmt: skip
def test_roi_align(opset: int, attrs: dict[str, Any]) -> None:
    boxes = {"boxes": BOXES[:2].copy(), "which": WHICH[:2].copy()}
    _check("RoiAlign", {"x": IMAGE, **boxes}, opset, output_height=3, output_width=2,
           spatial_scale=0.75, **attrs)  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
def test_roi_align_takes_as_many_places_as_a_bin_has(known: bool) -> None:
    boxes = {"boxes": BOXES, "which": WHICH}
    inputs = {"x": IMAGE} if known else {"x": IMAGE, **boxes}
    weights = boxes if known else None
    _check("RoiAlign", inputs, 16, weights, output_height=2, output_width=2)


def test_max_roi_pool() -> None:
    rois = np.array([[0, 0, 0, 6, 6], [1, 2, 1, 9, 8], [1, 3, 3, 3, 3]], "float32")
    _check("MaxRoiPool", {"x": IMAGE, "rois": rois}, 17, pooled_shape=[2, 3], spatial_scale=0.9)


@pytest.mark.parametrize(
    ("image", "block", "attrs"),
    [
        ([5, 6], [2, 3], {}),
        ([5, 6], [2, 2], {"dilations": [2, 1], "pads": [1, 0, 1, 2]}),
        ([7, 6], [3, 2], {"strides": [2, 2]}),
    ],
)
def test_col2im(image: list[int], block: list[int], attrs: dict[str, Any]) -> None:
    pads = attrs.get("pads", [0] * 4)
    counts = [
        (image[d] + pads[d] + pads[d + 2] - (block[d] - 1) * attrs.get("dilations", [1, 1])[d] - 1)
        // attrs.get("strides", [1, 1])[d] + 1
        for d in (0, 1)
    ]  # fmt: skip
    x = RNG.standard_normal((1, 2 * block[0] * block[1], counts[0] * counts[1])).astype("float32")
    weights = {"image": np.array(image, "int64"), "block": np.array(block, "int64")}
    _check("Col2Im", {"x": x}, 18, weights, **attrs)


def test_places_of_the_largest() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], kernel_shape=[3, 2],
                            strides=[2, 2], pads=[1, 0, 1, 1])  # fmt: skip
    check(make_model([node], {"x": IMAGE}, ["y", "places"]), {"x": IMAGE})


def test_errors() -> None:
    boxes = {"x": IMAGE, "boxes": BOXES, "which": WHICH}
    node = helper.make_node("RoiAlign", list(boxes), ["y"], mode="min")
    with pytest.raises(OpAttributeInvalid, match="legal: avg, max"):
        from_onnx(make_model([node], boxes, ["y"], opset=16))
    weights = {"image": np.array([5, 5]), "block": np.array([2, 2])}
    node = helper.make_node("Col2Im", ["x", *weights], ["y"])
    x = np.zeros((1, 5, 16), "float32")
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": x}, ["y"], weights, opset=18)
    model.graph.node[0].CopyFrom(node)
    with pytest.raises(OpAttributeInvalid, match="a multiple of 4"):
        from_onnx(model)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 5), (2, 1)])
def test_crops_of_one_size(mode: str, size: tuple[int, int]) -> None:
    node = helper.make_node("CropAndResize", ["x", "boxes", "which", "size"], ["y"], mode=mode,
                            domain="com.microsoft", extrapolation_value=0.5)  # fmt: skip
    runs = [
        {
            "x": RNG.standard_normal(shape).astype("float32"),
            "boxes": (RNG.random((count, 4)) * 1.4 - 0.2).astype("float32"),
            "which": RNG.integers(0, shape[0], count).astype("int32"),
            "size": np.array(size, "int32"),
        }
        for shape, count in (((2, 3, 7, 9), 5), ((1, 3, 8, 4), 11))
    ]
    runs[1]["boxes"][0] = [0, 0, 1, 1]  # places that lie in the middle of two elements
    shapes = {"x": ["n", 3, "h", "w"], "boxes": ["r", 4], "which": ["r"]}
    check_sizes(make_model([node], runs[0], ["y"], shapes=shapes), runs, 1e-4)


@pytest.mark.parametrize("op", ["CropAndResize", "MaxRoiPool"])
@pytest.mark.parametrize("number", [2, -1])
def test_regions_of_no_picture_are_refused(op: str, number: int) -> None:
    """Also those of which no element would be read."""
    given = {"x": IMAGE, "boxes": np.array([[0.1, 0.1, 0.8, 0.9], [5, 5, 6, 6]], "float32")}
    if op == "CropAndResize":
        given |= {"which": np.array([0, number], "int32"), "size": np.array([3, 4], "int32")}
        node = helper.make_node(op, list(given), ["y"], domain="com.microsoft", name="cut")
    else:
        which = np.array([[0], [number]], "float32")
        given["boxes"] = np.concatenate([which, given["boxes"] * 90], 1)
        node = helper.make_node(op, list(given), ["y"], pooled_shape=[3, 4], name="cut")
    model = make_model([node], given, ["y"])
    with pytest.raises(AssertionError, match="'cut': a region's number of a picture"):
        run_compiled(model, given)
