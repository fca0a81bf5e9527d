"""Choosing tokens: `vm.builtin.sample_*`, and what is done to logits before.

Functions that change logits write into the tensor that they are given; the last dimension is that
of the vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.error import ShapeError, message

from ._tensor import Tensor, host_view, tensor
from .vm_builtin import _builtin

_COLD = 1e-6  # a temperature below takes the likeliest token


def _row(values: Tensor, what: str) -> Any:
    """The vocabulary of a tensor that holds one row of it."""
    found = host_view(values)
    if found.size != found.shape[-1]:
        raise ShapeError(
            message(what, found=f"shape {tuple(found.shape)}", legal="one row: (1, 1, vocabulary)")
        )
    return found.reshape(-1)


def _softmax(logits: Any, temperature: float) -> Any:
    scaled = logits.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return weights / weights.sum()


def _choose(probabilities: Any, top_p: float, sample: float) -> int:
    """The token at `sample` of the likeliest ones that together have `top_p`."""
    order = np.argsort(-probabilities, kind="stable")
    if top_p > 0 and sample * top_p < probabilities[order[0]]:
        return int(order[0])  # likely enough, whatever the others sum up to
    sums = np.cumsum(probabilities[order])
    kept = int(np.searchsorted(sums, top_p, side="left")) + 1 if top_p > 0 else 1
    kept = min(kept, len(order))
    at = int(np.searchsorted(sums[:kept], sample * sums[kept - 1], side="right"))
    return int(order[min(at, kept - 1)])


@_builtin("sample_top_p_from_logits")
def sample_top_p_from_logits(
    logits: Tensor, temperature: float, top_p: float, uniform_sample: float
) -> int:
    """A token by the softmax of logits at a temperature, among the likeliest with `top_p`."""
    row = _row(logits, "sample_top_p_from_logits")
    if temperature < _COLD:
        return int(np.argmax(row))
    return _choose(_softmax(row, temperature), float(top_p), float(uniform_sample))


@_builtin("sample_top_p_from_prob")
def sample_top_p_from_prob(prob: Tensor, top_p: float, uniform_sample: float) -> int:
    """A token by its probability, among the likeliest with `top_p`."""
    row = _row(prob, "sample_top_p_from_prob").astype(np.float64)
    return _choose(row, float(top_p), float(uniform_sample))


@_builtin("multinomial_from_uniform")
def multinomial_from_uniform(prob: Tensor, uniform_sample: Tensor) -> Tensor:
    """A token for each row.   (batch, vocabulary), (batch, 1) -> (batch, 1) int64"""
    rows, samples = host_view(prob), host_view(uniform_sample).reshape(-1)
    if rows.ndim != 2 or len(samples) != len(rows):
        raise ShapeError(
            message(
                "multinomial_from_uniform",
                found=f"shapes {tuple(prob.shape)} and {tuple(uniform_sample.shape)}",
                legal="(batch, vocabulary) and (batch, 1)",
            )
        )
    sums = np.cumsum(rows.astype(np.float64), axis=1)
    found = (sums <= samples[:, None] * sums[:, -1:]).sum(axis=1)
    return tensor(np.minimum(found, rows.shape[1] - 1).astype("int64").reshape(-1, 1))


@_builtin("apply_softmax_with_temperature")
def apply_softmax_with_temperature(logits: Tensor, temperature: float) -> None:
    """Logits become probabilities."""
    values = host_view(logits)
    flat = values.reshape(-1, values.shape[-1])
    for row in flat:
        if temperature < _COLD:
            best = int(np.argmax(row))
            row[:] = 0
            row[best] = 1
        else:
            row[:] = _softmax(row, temperature)


@_builtin("apply_repetition_penalty")
def apply_repetition_penalty(logits: Tensor, token_ids: Tensor, penalty: float) -> None:
    """Logits of tokens that were there before move away from being chosen."""
    row = _row(logits, "apply_repetition_penalty")
    chosen = host_view(token_ids).reshape(-1)
    values = row[chosen]
    row[chosen] = np.where(values <= 0, values * penalty, values / penalty)


@_builtin("apply_presence_and_frequency_penalty")
def apply_presence_and_frequency_penalty(
    logits: Tensor,
    token_ids: Tensor,
    token_freqs: Tensor,
    presence_penalty: float,
    frequency_penalty: float,
) -> None:
    """Logits of tokens fall by a constant, and by how often they were there."""
    row = _row(logits, "apply_presence_and_frequency_penalty")
    chosen = host_view(token_ids).reshape(-1)
    times = host_view(token_freqs).reshape(-1)
    row[chosen] -= times * frequency_penalty + presence_penalty
