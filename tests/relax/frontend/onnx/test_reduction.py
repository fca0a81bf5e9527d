"""Reductions of integers, and over no axes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check, make_model

pytestmark = pytest.mark.cpu
VALUES = np.random.default_rng(3).uniform(0.2, 3, (3, 4)).astype("float32")


def reduced(op: str, value: Array, opset: int = 18, **attrs: int) -> None:
    node, given = helper.make_node(op, ["x"], ["y"], **attrs), {"x": value}
    check(make_model([node], given, ["y"], opset=opset), given)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("op", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
def test_what_lies_behind_the_point_is_cut_off(op: str, dtype: str) -> None:
    reduced(op, np.array([[1, 2, 3], [4, 5, 6]], dtype), keepdims=0)


@pytest.mark.parametrize("op", [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceSumSquare",
])  # fmt: skip
def test_over_no_axes_the_elements_are_still_squared_or_taken_the_logarithm_of(op: str) -> None:
    reduced(op, VALUES - (0 if "Log" in op else 1), noop_with_empty_axes=1)
