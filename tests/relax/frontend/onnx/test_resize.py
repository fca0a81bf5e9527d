"""Resizing of integers: computed in floats, cut off or rounded as ONNX Runtime has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, check_sizes, make_model, run_compiled

pytestmark = pytest.mark.cpu
SCALES = np.array([1, 1, 1.7, 1.3], "float32")


def pictures(dtype: str, height: int = 4) -> Any:
    return np.random.default_rng(height).integers(0, 100, (1, 2, height, 5)).astype(dtype)


# of int8 ONNX Runtime makes 0 of what a cubic overshoots below 0
@pytest.mark.parametrize(("mode", "antialias", "dtype"), [
    *[("linear", antialias, dtype) for antialias in (0, 1) for dtype in ("uint8", "int8", "int32")],
    ("cubic", 1, "uint8"), ("cubic", 1, "int32"),
])  # fmt: skip
def test_integers(mode: str, antialias: int, dtype: str) -> None:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode, antialias=antialias)
    given = {"x": pictures(dtype)}
    check(make_model([node], given, ["y"], {"scales": SCALES}, 18), given)


def test_integers_of_open_extents() -> None:
    runs = [{"x": pictures("uint8", height)} for height in (4, 9)]
    shapes = {"x": ["n", 2, "h", "w"]}
    for options in ({}, {"antialias": 1}):
        node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", **options)
        scales = {"scales": np.array([1, 1, 2, 2], "float32")}  # whose shares are exact
        model = make_model([node], runs[0], ["y"], scales, 18, shapes)
        check_sizes(model, runs)


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_upsampled_integers(dtype: str) -> None:
    node = helper.make_node("Upsample", ["x", "scales"], ["y"], mode="linear")
    given = {"x": pictures(dtype)}
    check(make_model([node], given, ["y"], {"scales": SCALES}, 9), given)


@pytest.mark.parametrize("shape", [{}, {"x": [1, 2, "h", "w"]}])
def test_nearest_as_tensorflow_has_it(shape: dict[str, Any]) -> None:
    """`(x + 0.5) / scale`: a mode of operator set 11, which models of later ones have, too."""
    x = np.arange(40, dtype="float32").reshape(1, 2, 4, 5)
    node = helper.make_node(
        "Resize", ["x", "", "scales"], ["y"], mode="nearest", nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )  # fmt: skip
    scales = np.array([1, 1, 2, 2], "float32")
    model = make_model([node], {"x": x}, ["y"], {"scales": scales}, 13, shape)
    rows, columns = (np.arange(2 * n) // 2 for n in (4, 5))
    (found,) = run_compiled(model, {"x": x})
    np.testing.assert_array_equal(found, x[:, :, rows][:, :, :, columns])
