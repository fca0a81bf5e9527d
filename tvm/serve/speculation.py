"""Guessing several tokens ahead, which one pass of the model then checks.

    guesses = proposer.propose(...)                # token, and the distribution it was drawn from
    rows = model.verify(last token + guesses)      # logits after each of them
    keep guess t with probability min(1, p(t) / q(t)); at the first refusal draw from (p - q)+

So answers are distributed as without guessing (Leviathan et al. 2023). Two kinds of proposer: a
smaller model, and what followed the last words where they stood before (no model at all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .model import LanguageModel
from .sampling import Row, SamplingParams, adjusted, distribution, draw


class Guess(NamedTuple):
    """A token, and what it was drawn from: tokens and their probabilities."""

    token: int
    ids: NDArray[np.int64]
    probs: Row


class Asked(NamedTuple):
    """A sequence that wants guesses."""

    tokens: Sequence[int]           # prompt and answer, all of them
    prompt_length: int
    params: SamplingParams
    rng: np.random.Generator
    most: int                       # how many guesses are of use


class Proposer(Protocol):
    """Guesses what comes next in sequences."""

    def propose(self, asked: Mapping[int, Asked]) -> dict[int, list[Guess]]:
        """Guesses for each sequence; maybe none."""
        ...

    def forget(self, sequence: int) -> None:
        """The sequence has ended."""
        ...


class PromptLookup:
    """What followed the last `size` tokens where they stood before."""

    def __init__(self, count: int = 4, size: int = 3) -> None:
        self._count, self._size = count, size

    def propose(self, asked: Mapping[int, Asked]) -> dict[int, list[Guess]]:
        """The tokens behind the latest occurrence of the same ending."""
        return {name: self._one(one) for name, one in asked.items()}

    def _one(self, asked: Asked) -> list[Guess]:
        tokens, count = np.asarray(asked.tokens), min(self._count, asked.most)
        for size in range(min(self._size, len(tokens) - 1), 0, -1):
            windows = np.lib.stride_tricks.sliding_window_view(tokens[:-1], size)
            found = np.flatnonzero((windows == tokens[-size:]).all(axis=1))
            if found.size:
                start = int(found[-1]) + size
                one = np.ones(1, "float32")
                return [Guess(int(t), np.array([t]), one) for t in tokens[start : start + count]]
        return []

    def forget(self, sequence: int) -> None:
        """Nothing is kept."""


class DraftModel:
    """A smaller model of the same vocabulary, with a cache of its own."""

    def __init__(self, model: LanguageModel, count: int = 4) -> None:
        self._model, self._count = model, count
        self._held: dict[int, list[int]] = {}   # the tokens whose keys are cached

    def propose(self, asked: Mapping[int, Asked]) -> dict[int, list[Guess]]:
        """Draw tokens one after the other."""
        found: dict[int, list[Guess]] = {name: [] for name in asked}
        entering = {name: self._catch_up(name, one) for name, one in asked.items()}
        for step in range(self._count):
            entering = {n: part for n, part in entering.items() if step < asked[n].most}
            if not entering:
                break
            logits = self._forward(entering)
            for name, row in logits.items():
                one = asked[name]
                answer = [*one.tokens[one.prompt_length :], *(g.token for g in found[name])]
                row = adjusted(row, one.params, one.tokens[: one.prompt_length], answer)
                ids, probs = distribution(row, one.params)
                found[name].append(Guess(draw(ids, probs, one.rng), ids, probs))
            entering = {name: [found[name][-1].token] for name in logits}
        return found

    def forget(self, sequence: int) -> None:
        """Free the sequence's cache."""
        if self._held.pop(sequence, None) is not None:
            self._model.remove(sequence)

    def _catch_up(self, sequence: int, asked: Asked) -> list[int]:
        """The tokens that the cache lacks; what it has too much is dropped."""
        if sequence not in self._held:
            self._model.add(sequence)
            self._held[sequence] = []
        held, wanted = self._held[sequence], list(asked.tokens)
        same = 0
        for own, other in zip(held, wanted[:-1]):
            if own != other:
                break
            same += 1
        if same < len(held):
            self._model.pop(sequence, len(held) - same)
            del held[same:]
        return wanted[same:]

    def _forward(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, Row]:
        found: dict[int, Row] = {}
        chunk = self._model.chunk
        for name, part in tokens.items():
            for start in range(0, len(part), chunk):
                piece = list(part[start : start + chunk])
                found |= self._model.forward({name: piece})
                self._held[name].extend(piece)
        return found


def accepted(
    rows: Row, guesses: Sequence[Guess], prompt: Sequence[int], answer: Sequence[int],
    params: SamplingParams, rng: np.random.Generator,
) -> list[int]:  # fmt: skip
    """The guesses that stand, and one token more; rows (guesses + 1, vocabulary)."""
    kept: list[int] = []
    for row, guess in zip(rows, guesses):
        ids, probs = distribution(adjusted(row, params, prompt, [*answer, *kept]), params)
        own = _probability(guess.token, ids, probs)
        other = _probability(guess.token, guess.ids, guess.probs)
        if rng.random() * other < own:
            kept.append(guess.token)
            continue
        left = probs.copy()
        theirs = {int(t): float(p) for t, p in zip(guess.ids, guess.probs)}
        left -= np.array([theirs.get(int(t), 0.0) for t in ids], "float32")
        left = np.maximum(left, 0)
        total = left.sum()
        kept.append(draw(ids, left / total if total > 0 else probs, rng))
        return kept
    ids, probs = distribution(adjusted(rows[-1], params, prompt, [*answer, *kept]), params)
    kept.append(draw(ids, probs, rng))
    return kept


def _probability(token: int, ids: NDArray[np.int64], probs: Row) -> float:
    indices = np.flatnonzero(ids == token)
    return float(probs[indices[0]]) if indices.size else 0.0
