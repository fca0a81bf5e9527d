"""Rotary positions, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check_sizes, make_model

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def run(inputs: list[Any], shapes: dict[int, list[Any]], **attrs: Any) -> None:
    arrays = {f"x{i}": array for i, array in enumerate(inputs)}
    node = helper.make_node("RotaryEmbedding", list(arrays), ["y"], domain="com.microsoft", **attrs)
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
