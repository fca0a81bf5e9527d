"""The loss of an order: least for the right one, and its derivative is that of its values."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.rank_loss import (
    lambda_rank_loss,
    rank_loss_and_gradient,
    topk_score,
)

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("k", [None, 3])
def test_the_right_order_loses_least(k: int | None) -> None:
    labels = np.array([0.1, 0.9, 0.5, 1.0])
    losses = [lambda_rank_loss(scores, labels, k) for scores in (labels, labels * 0, -labels)]
    assert losses == sorted(losses)
    assert losses[0] < losses[2]


def test_two_candidates_by_hand() -> None:
    """DCG is 1 for the best first; an exchange costs (1 - 1/log2(3)) of it."""
    weight = (1 - 1 / np.log2(3)) * 1.0
    expected = weight * np.log2(1 + np.exp(-2.0))
    assert lambda_rank_loss(np.array([2.0, 0.0]), np.array([1.0, 0.0])) == pytest.approx(expected)
    assert lambda_rank_loss(np.array([2.0, 0.0]), np.array([1.0, 1.0])) == 0


@pytest.mark.parametrize("k", [None, 4])
def test_the_derivative(k: int | None) -> None:
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=6), random.random(6)
    _, gradient = rank_loss_and_gradient(scores, labels, k)
    for at in range(6):
        step = np.eye(6)[at] * 1e-6
        slope = lambda_rank_loss(scores + step, labels, k) - lambda_rank_loss(
            scores - step, labels, k
        )
        assert gradient[at] == pytest.approx(slope / 2e-6, abs=1e-6)


def test_top_k() -> None:
    predicted, measured = np.array([1.0, 2.0, 3.0]), np.array([4.0, 2.0, 1.0])
    assert [topk_score(predicted, measured, k) for k in (1, 2, 9)] == [0.25, 0.5, 1.0]
