"""Guesses that are checked leave the distribution of answers as it was."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.serve.sampling import SamplingParams, distribution
from tvm.serve.speculation import Asked, Guess, PromptLookup, accepted

pytestmark = pytest.mark.pure


def test_first_tokens_are_distributed_as_without_guesses() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2, 6)).astype("float32")
    own_ids, own = distribution(rows[0], SamplingParams())
    theirs = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1], "float32")
    counts = np.zeros(6)
    for _ in range(6000):
        token = int(rng.choice(6, p=theirs / theirs.sum(dtype="float64")))
        guess = Guess(token, np.arange(6), theirs)
        counts[accepted(rows, [guess], [], [], SamplingParams(), rng)[0]] += 1
    np.testing.assert_allclose(counts[own_ids] / 6000, own, atol=0.025)


def test_all_guesses_stand_or_the_first_wrong_one_is_replaced() -> None:
    rows = np.full((3, 5), -9, "float32")
    rows[[0, 1, 2], [3, 1, 4]] = 9
    greedy, rng = SamplingParams(temperature=0), np.random.default_rng(0)
    one = np.ones(1, "float32")

    def guesses(*tokens: int) -> list[Guess]:
        return [Guess(t, np.array([t]), one) for t in tokens]

    assert accepted(rows, guesses(3, 1), [], [], greedy, rng) == [3, 1, 4]
    assert accepted(rows, guesses(3, 2), [], [], greedy, rng) == [3, 1]
    assert accepted(rows, guesses(0, 1), [], [], greedy, rng) == [3]


def test_lookup_finds_the_latest_place() -> None:
    rng = np.random.default_rng(0)

    def guessed(tokens: list[int], most: int = 9) -> list[int]:
        asked = {0: Asked(tokens, 1, SamplingParams(), rng, most)}
        return [guess.token for guess in PromptLookup(3, 2).propose(asked)[0]]

    assert guessed([1, 2, 3, 4, 1, 2]) == [3, 4, 1]
    assert guessed([1, 2, 9, 4, 1, 2, 3, 7, 1, 2]) == [3, 7, 1]
    assert guessed([1, 2, 3, 4, 1, 2], most=1) == [3]
    assert guessed([1, 2, 3]) == []
    assert guessed([5]) == []
