"""Pools that look at a mask, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check_sizes, make_model
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(6)


def model_of(rank: int, channels: int = 1, **attrs: Any) -> tuple[Any, list[dict[str, Any]]]:
    runs = []
    for sizes in ((5, 6, 4), (7, 4, 5)):
        extents = sizes[: rank - 2]
        mask = (RNG.random((1, channels, *extents)) > 0.3).astype("int32")
        x = RNG.standard_normal((2, 3, *extents)).astype("float32")
        runs.append({"x": x, "mask": mask})
    node = helper.make_node("MaxpoolWithMask", ["x", "mask"], ["y"], domain="com.microsoft",
                            **attrs)  # fmt: skip
    extents = ["d", "h", "w"][: rank - 2]
    shapes = {"x": ["n", 3, *extents], "mask": [1, channels, *extents]}
    return make_model([node], runs[0], ["y"], shapes=shapes), runs


@pytest.mark.parametrize("attrs", [
    {"kernel_shape": [3], "pads": [1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
    {"kernel_shape": [2, 2, 2]},
])  # fmt: skip
def test_rows_end_before_a_zero(attrs: dict[str, Any]) -> None:
    model, runs = model_of(2 + len(attrs["kernel_shape"]), **attrs)
    check_sizes(model, runs)


def test_refuses() -> None:
    with pytest.raises(OpAttributeInvalid, match=r"of shape \(1, 1"):
        from_onnx(model_of(4, 3, kernel_shape=[2, 2])[0])
    with pytest.raises(OpAttributeInvalid, match="auto_pad"):
        from_onnx(model_of(4, kernel_shape=[2, 2], auto_pad="SAME_UPPER")[0])
