"""Tokens drawn from probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.nn.running import apply
from tvm.relax.frontend.nn import op

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(4)


def distribution(batch: int, vocabulary: int) -> Any:
    values = RNG.random((batch, vocabulary)).astype("float32") ** 3
    return values / values.sum(1, keepdims=True)


def kept(prob: Any, top_p: float, top_k: int) -> Any:
    """The places of the likeliest tokens that are left, in order."""
    order = np.argsort(-prob)
    sums = np.cumsum(prob[order])
    count = 1
    while count < min(top_k, len(prob)) and sums[count - 1] < top_p:
        count += 1
    return order[:count]


@pytest.mark.parametrize("indexed", [False, True])
def test_multinomial(indexed: bool) -> None:
    prob = distribution(3, 20)
    rows = np.array([2, 0, 1, 1] if indexed else [0, 1, 2])
    numbers = RNG.random((len(rows), 1)).astype("float32")
    given = [rows[:, None]] if indexed else []
    found = apply(op.multinomial_from_uniform, prob, numbers, *given)
    wanted = [np.searchsorted(np.cumsum(prob[r]), u[0], "right") for r, u in zip(rows, numbers)]
    assert found.ravel().tolist() == wanted


TOP_P = np.array([[0.6], [0.95], [0.01]], "float32")
TOP_K = np.array([[4], [20], [5]])


@pytest.mark.parametrize("indexed", [False, True])
def test_top_p_and_top_k(indexed: bool) -> None:
    prob = distribution(3, 20)
    order = np.argsort(-prob, 1)
    falling = np.take_along_axis(prob, order, 1)
    rows = RNG.integers(0, 3, 40) if indexed else np.arange(3)
    numbers = RNG.random((len(rows), 1)).astype("float32")
    given = [rows[:, None]] if indexed else []
    found = apply(
        op.sample_top_p_top_k_from_sorted_prob, falling, order, TOP_P, TOP_K, numbers, *given
    )
    for token, row, number in zip(found.ravel(), rows, numbers.ravel()):
        left = kept(prob[row], TOP_P[row, 0], TOP_K[row, 0])
        sums = np.cumsum(prob[row][left])
        assert token == left[np.searchsorted(sums, number * sums[-1], "right")]


def test_renormalised() -> None:
    prob = distribution(3, 20)
    falling = -np.sort(-prob, 1)
    found = apply(op.renormalize_top_p_top_k_prob, prob, falling, TOP_P, TOP_K)
    wanted = np.zeros_like(prob)
    for row in range(3):
        left = kept(prob[row], TOP_P[row, 0], TOP_K[row, 0])
        wanted[row, left] = prob[row, left] / prob[row, left].sum()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_what_is_refused() -> None:
    prob, numbers = distribution(3, 5), np.zeros((2, 1), "float32")
    with pytest.raises(ValueError, match="2 numbers, 3 rows"):
        apply(op.multinomial_from_uniform, prob, numbers)
    with pytest.raises(ValueError, match="sampling: top_p"):
        apply(op.renormalize_top_p_top_k_prob, prob, prob, numbers, TOP_K)
