"""Choosing the next token from logits.

    logits -> penalties, biases, mask -> temperature -> top k -> nucleus (top p) -> min p -> draw

Greedy choice is temperature 0. All of it is numpy on one row; a row of 128,000 takes under a
millisecond, since only the candidates that top k leaves are sorted.
"""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm.error import ArgumentValueError, TVMError, message

Row = NDArray[np.float32]
# the tokens generated so far -> the tokens that may come next, as a mask (vocabulary,) or as ids
Mask = Callable[[Sequence[int]], NDArray[Any]]


class OutOfRange(ArgumentValueError):
    """A parameter of sampling, named `param`, with a value that it cannot have."""

    def __init__(self, text: str, param: str) -> None:
        super().__init__(text)
        self.param = param


class NoToken(TVMError):
    """Nothing can come next: all is forbidden, or the logits are no numbers."""


@dataclass(frozen=True)
class SamplingParams:
    """How tokens are chosen, and when to stop."""

    temperature: float = 1.0
    top_p: float = 1.0              # the fewest of the likeliest that together have this much
    top_k: int = 0                  # 0: all
    min_p: float = 0.0              # a share of the likeliest's probability
    repetition_penalty: float = 1.0     # Keskar et al. 2019; over prompt and answer
    presence_penalty: float = 0.0       # once for each token that the answer has
    frequency_penalty: float = 0.0      # for each time that it has it
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    mask: Mask | None = None        # a grammar
    seed: int | None = None
    max_tokens: int = 128
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    logprobs: int = 0               # how many of the likeliest are told with each token

    def __post_init__(self) -> None:
        for name, low, high in (
            ("temperature", 0, 100), ("top_p", 0, 1), ("top_k", 0, None), ("min_p", 0, 1),
            ("repetition_penalty", 0.01, 100), ("max_tokens", 1, None), ("logprobs", 0, 20),
            ("presence_penalty", -2, 2), ("frequency_penalty", -2, 2),
            ("seed", -(2**63), 2**64 - 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is None and name == "seed":
                continue
            if not (low <= value and (high is None or value <= high)):
                legal = f"{low} to {high}" if high is not None else f"{low} or more"
                raise self._wrong(name, value, legal)
        for token, bias in self.logit_bias.items():
            if not bias < math.inf:  # minus infinity forbids a token
                raise self._wrong("logit_bias", {token: bias}, "finite numbers")

    def _wrong(self, name: str, value: object, legal: str) -> OutOfRange:
        return OutOfRange(
            message(f"sampling with {name}={reprlib.repr(value)}", found="a value out of range",
                    legal=legal), name,
        )


def adjusted(
    logits: Row, params: SamplingParams, prompt: Sequence[int], answer: Sequence[int]
) -> Row:
    """Logits with penalties, biases and the mask of a grammar."""
    out = logits
    if params.repetition_penalty != 1.0:
        out = out.copy()
        seen = np.unique(np.fromiter((*prompt, *answer), "int64"))
        values = out[seen]
        factor = np.float32(params.repetition_penalty)
        out[seen] = np.where(values > 0, values / factor, values * factor)
    if (params.presence_penalty or params.frequency_penalty) and answer:
        out = out.copy() if out is logits else out
        for token, count in Counter(answer).items():
            out[token] -= params.presence_penalty + params.frequency_penalty * count
    if params.logit_bias:
        out = out.copy() if out is logits else out
        for token, bias in params.logit_bias.items():
            if 0 <= token < len(out):
                out[token] += bias
    if params.mask is not None:
        allowed = params.mask(answer)
        masked = np.full_like(out, -np.inf)
        masked[allowed] = out[allowed]
        out = masked
    return out


def distribution(logits: Row, params: SamplingParams) -> tuple[NDArray[np.int64], Row]:
    """The tokens that may be drawn, likeliest first, and their probabilities (sum 1).

    At temperature 0 it is the likeliest alone. NoToken, if there is none.
    """
    top = logits.max()
    if not np.isfinite(top):
        no_numbers = np.isnan(top) or top > 0
        raise NoToken(
            message("the next token",
                    found="logits that are no numbers" if no_numbers else "no token is allowed")
        )  # fmt: skip
    if params.temperature == 0:
        return np.array([int(np.argmax(logits))]), np.ones(1, "float32")
    count = params.top_k if 0 < params.top_k < len(logits) else len(logits)
    if count < len(logits):
        ids = np.argpartition(logits, -count)[-count:]
    else:
        ids = np.arange(len(logits))
    with np.errstate(over="ignore"):  # a small temperature: all but the likeliest get nothing
        probs = np.exp((logits[ids].astype("float64") - float(top)) / params.temperature)
    probs /= probs.sum()
    if params.top_p >= 1 and not params.min_p and count == len(logits):
        return ids, probs.astype("float32")
    order = np.argsort(-probs, kind="stable")
    ids, probs = ids[order], probs[order]
    if params.top_p < 1:
        kept = int(np.searchsorted(np.cumsum(probs), params.top_p)) + 1
        ids, probs = ids[:kept], probs[:kept]
    if params.min_p:
        kept = max(int((probs >= params.min_p * probs[0]).sum()), 1)
        ids, probs = ids[:kept], probs[:kept]
    return ids, (probs / probs.sum()).astype("float32")


def draw(ids: NDArray[np.int64], probs: Row, rng: np.random.Generator) -> int:
    """One of the tokens, by its probability."""
    if len(ids) == 1:
        return int(ids[0])
    index = int(np.searchsorted(np.cumsum(probs, dtype="float64"), rng.random()))
    return int(ids[min(index, len(ids) - 1)])


def log_probabilities(logits: Row) -> Row:
    """The logarithms of the probabilities that a row of logits says."""
    values = logits.astype("float64")
    shifted = values - values.max()
    result: Row = (shifted - np.log(np.exp(shifted).sum())).astype("float32")
    return result


def one_of(choices: Sequence[Sequence[int]], end: Sequence[int]) -> Mask:
    """A grammar whose sentences are these sequences of tokens, each followed by an end token."""

    def allowed(answer: Sequence[int]) -> NDArray[Any]:
        done = list(answer)
        fitting = [c for c in choices if list(c[: len(done)]) == done]
        following = {int(c[len(done)]) for c in fitting if len(c) > len(done)}
        if any(len(c) == len(done) for c in fitting) or not fitting:
            following.update(end)
        return np.array(sorted(following), "int64")

    return allowed
