"""Tokens by their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.serve.sampling import (
    SamplingParams,
    adjusted,
    distribution,
    draw,
    log_probabilities,
    one_of,
)

pytestmark = pytest.mark.pure
LOGITS = np.log(np.array([0.1, 0.4, 0.05, 0.3, 0.15], "float32"))


def _probs(**given: Any) -> dict[int, float]:
    ids, probs = distribution(LOGITS, SamplingParams(**given))
    return {int(i): round(float(p), 4) for i, p in zip(ids, probs)}


def test_distributions() -> None:
    assert _probs() == {0: 0.1, 1: 0.4, 2: 0.05, 3: 0.3, 4: 0.15}
    assert _probs(temperature=0) == {1: 1.0}
    assert _probs(top_k=2) == {1: 0.5714, 3: 0.4286}
    assert _probs(top_p=0.7) == {1: 0.5714, 3: 0.4286}
    assert _probs(top_p=0.71) == {1: 0.4706, 3: 0.3529, 4: 0.1765}
    assert _probs(top_p=0.0) == {1: 1.0}
    assert _probs(min_p=0.5) == {1: 0.5714, 3: 0.4286}
    squared = np.array([0.1, 0.4, 0.05, 0.3, 0.15]) ** 2
    assert _probs(temperature=0.5)[3] == round(float(squared[3] / squared.sum()), 4)


def test_draws_follow_the_distribution() -> None:
    rng = np.random.default_rng(0)
    ids, probs = distribution(LOGITS, SamplingParams(top_k=3))
    counts = np.bincount([draw(ids, probs, rng) for _ in range(4000)], minlength=5) / 4000
    np.testing.assert_allclose(counts[ids], probs, atol=0.03)
    assert counts[0] == counts[2] == 0


def test_penalties_biases_and_masks() -> None:
    row = np.array([1.0, -1.0, 2.0, 0.0], "float32")
    params = SamplingParams(repetition_penalty=2.0)
    assert adjusted(row, params, [0, 1], [1]).tolist() == [0.5, -2.0, 2.0, 0.0]
    params = SamplingParams(presence_penalty=0.5, frequency_penalty=0.25)
    assert adjusted(row, params, [0], [2, 2]).tolist() == [1.0, -1.0, 1.0, 0.0]
    params = SamplingParams(logit_bias={3: 7.0, 99: 1.0})
    assert adjusted(row, params, [], []).tolist() == [1.0, -1.0, 2.0, 7.0]
    params = SamplingParams(mask=one_of([[1, 2], [1, 3, 0]], [3]))
    assert np.flatnonzero(np.isfinite(adjusted(row, params, [], []))).tolist() == [1]
    assert np.flatnonzero(np.isfinite(adjusted(row, params, [], [1]))).tolist() == [2, 3]
    assert np.flatnonzero(np.isfinite(adjusted(row, params, [], [1, 2]))).tolist() == [3]
    assert row.tolist() == [1.0, -1.0, 2.0, 0.0]  # rows are never changed in place


def test_log_probabilities_sum_to_one() -> None:
    np.testing.assert_allclose(np.exp(log_probabilities(LOGITS * 30)).sum(), 1, rtol=1e-5)


@pytest.mark.parametrize("wrong", [
    {"temperature": -1}, {"top_p": 1.5}, {"top_k": -1}, {"max_tokens": 0}, {"logprobs": 21},
    {"presence_penalty": 3}, {"temperature": float("nan")},
])  # fmt: skip
def test_values_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TVMError, match="sampling with"):
        SamplingParams(**wrong)
