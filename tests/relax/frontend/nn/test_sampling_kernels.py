"""Kernels of sampling, on rows that can be followed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.frontend.nn.sampling_kernels import index_from_sorted, least_prob, renorm_prob
from tvm.tir import interp

pytestmark = pytest.mark.pure

PROB = np.array([[0.5, 0.25, 0.125, 0.125]], "float32")
SUMS = PROB.cumsum(1)
CASES = [(0.4, 4, 1), (0.5, 4, 1), (0.6, 4, 2), (2.0, 3, 3), (2.0, 9, 4), (2.0, 1, 1), (0.9, 0, 1)]


@pytest.mark.parametrize(("top_p", "top_k", "count"), CASES)
def test_how_many_are_left(top_p: float, top_k: int, count: int) -> None:
    limits = [np.array([[top_p]], "float32"), np.array([[top_k]], "int32")]
    kept, least = np.zeros((1, 1), "float32"), np.zeros((1, 1), "float32")
    interp.run(renorm_prob("float32", "int32"), SUMS, *limits, kept)
    assert kept[0, 0] == SUMS[0, count - 1]
    interp.run(least_prob("float32", "int32"), PROB, SUMS, *limits, least)
    assert least[0, 0] == PROB[0, count - 1]


@pytest.mark.parametrize(("sample", "place"), [(0.0, 0), (0.66, 0), (0.67, 1), (0.99, 1)])
def test_the_token_at_a_number(sample: float, place: int) -> None:
    kept, rows = np.array([[0.75]], "float32"), np.zeros((1, 1), "int64")
    index, chosen = np.array([[7, 3, 9, 1]], "int32"), np.zeros((1, 1), "int32")
    given = [SUMS, index, kept, np.array([[sample]], "float32"), rows, chosen]
    interp.run(index_from_sorted("float32", "int32", "int64"), *given)
    assert chosen[0, 0] == index[0, place]
