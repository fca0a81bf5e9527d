"""Words by their letters, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(1)


def test_words_of_several_lengths() -> None:
    shapes = {"filters": (5, 1, 3, 4), "bias": (5,), "letters": (20, 4)}
    weights = {n: RNG.standard_normal(shape).astype("float32") for n, shape in shapes.items()}
    node = helper.make_node("WordConvEmbedding", ["words", *weights], ["y"], domain="com.microsoft")

    def words(count: int, longest: int) -> Array:
        found = RNG.integers(1, 20, (count, longest)).astype("int32")
        for i, row in enumerate(found):
            row[1 + i % longest :] = 0
        return found

    # a 0 within a word is no letter, and is looked at all the same
    broken = np.array([[3, 4, 5, 0, 7, 8, 9, 6], [3, 0, 5, 0, 7, 8, 9, 6]], "int32")
    runs = [{"words": words(9, 8)}, {"words": words(2, 3)}, {"words": broken}]
    model = make_model([node], runs[0], ["y"], weights, shapes={"words": ["words", "longest"]})
    check_sizes(model, runs, 1e-4)
