"""Tokens drawn from probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.nn.running import apply
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op, spec

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


class Sample(nn.Module):
    def forward(
        self, prob: nn.Tensor, index: nn.Tensor, p: nn.Tensor, k: nn.Tensor, u: nn.Tensor
    ) -> nn.Tensor:
        return op.sample_top_p_top_k_from_sorted_prob(prob, index, p, k, u)


class Renormalize(nn.Module):
    def forward(
        self, prob: nn.Tensor, falling: nn.Tensor, p: nn.Tensor, k: nn.Tensor
    ) -> nn.Tensor:
        return op.renormalize_top_p_top_k_prob(prob, falling, p, k)


def test_kernels_see_all_places_at_once() -> None:
    one, count = spec.Tensor([2, 1], "float32"), spec.Tensor([2, 1], "int64")
    row, places = spec.Tensor([2, 3], "float32"), spec.Tensor([2, 3], "int64")
    forms = {"prob": row, "index": places, "p": one, "k": count, "u": one}
    mod, _ = Sample().export_tvm({"forward": forms})
    for name, condition in (
        ("get_renorm_prob", "not (sums[row, 0] < top_p[row, 0] and top_k[row, 0] > T.int64(1))"),
        ("get_index_from_sorted", "or at + T.int64(1) == vocabulary:"),
    ):
        text = mod[name].script()
        assert "in T.grid(" in text
        assert condition in text
    assert 'rows = T.match_buffer(rows_handle, (count, 1), "int32")' in text

    mod, _ = Renormalize().export_tvm(
        {"forward": {"prob": row, "falling": row, "p": one, "k": count}}
    )
    cutoff = mod["get_renorm_cutoff"].script()
    assert "T.min(T.min(T.int64(0), at), at + T.int64(1))" in cutoff
    kept = mod["filter_with_top_p_top_k"].script()
    assert "T.Select(lv[v_i, T.int64(0)] <= prob[v_i, v_j], prob[v_i, v_j], T.float32(0.0))" in kept


def test_what_is_refused() -> None:
    prob, numbers = distribution(3, 5), np.zeros((2, 1), "float32")
    with pytest.raises(ValueError, match="2 numbers, 3 rows"):
        apply(op.multinomial_from_uniform, prob, numbers)
    with pytest.raises(ValueError, match="sampling: top_p"):
        apply(op.renormalize_top_p_top_k_prob, prob, prob, numbers, TOP_K)
