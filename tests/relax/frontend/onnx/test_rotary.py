"""Rotary positions, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check_sizes, make_model
from tvm.error import OpAttributeInvalid

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def run(
    inputs: list[Any], shapes: dict[int, list[Any]], op: str = "RotaryEmbedding", **attrs: Any
) -> None:
    arrays = {f"x{i}": array for i, array in enumerate(inputs)}
    node = helper.make_node(op, list(arrays), ["y"], domain="com.microsoft", **attrs)
    given = {f"x{i}": shape for i, shape in shapes.items()}
    check_sizes(make_model([node], arrays, ["y"], shapes=given), [arrays], 1e-4)


PLACES = np.array([[0, 1, 2], [4, 5, 6]])


@pytest.mark.parametrize("interleaved", [0, 1])
def test_places_of_each_row(interleaved: int) -> None:
    inputs = [floats(2, 3, 32), PLACES, floats(10, 4), floats(10, 4)]
    run(inputs, {0: ["b", "s", 32], 1: ["b", "s"]}, interleaved=interleaved)


def test_places_from_a_start_on_with_heads_in_front() -> None:
    inputs = [floats(2, 4, 3, 8), np.array([2]), floats(10, 4), floats(10, 4)]
    run(inputs, {0: ["b", 4, "s", 8]})


def test_a_part_of_each_head() -> None:
    inputs = [floats(2, 3, 32), np.array([2]), floats(10, 2), floats(10, 2)]
    run(inputs, {0: ["b", "s", 32]}, num_heads=4, rotary_embedding_dim=4)


@pytest.mark.parametrize("attrs", [
    {"mrope_section": [2, 3, 3]}, {"mrope_section": [8, 0, 0], "interleaved": 1},
    {"mrope_section": [4, 2, 2], "mrope_layout": 1},
    {"mrope_section": [2, 3, 3], "mrope_layout": 1, "interleaved": 1, "scale": 2.0},
])  # fmt: skip
def test_three_places_of_a_token(attrs: dict[str, Any]) -> None:
    places = RNG.integers(0, 9, (3, 2, 5))
    tables = [floats(9, 8), floats(9, 8)]
    shapes = {0: ["b", "s", 32], 1: [3, "b", "s"]}
    run([floats(2, 5, 32), places, *tables], shapes, "MRotaryEmbedding", num_heads=2, **attrs)
    shapes[0] = ["b", 2, "s", 20]
    run([floats(2, 2, 5, 20), places, *tables], shapes, "MRotaryEmbedding",
        rotary_embedding_dim=16, num_heads=2, **attrs)  # fmt: skip


def test_refuses_parts_that_are_no_head() -> None:
    inputs = [floats(2, 5, 32), np.zeros((3, 2, 5), "int64"), floats(9, 8), floats(9, 8)]
    with pytest.raises(OpAttributeInvalid, match="mrope_section"):
        run(inputs, {}, "MRotaryEmbedding", num_heads=2, mrope_section=[2, 3, 2])
