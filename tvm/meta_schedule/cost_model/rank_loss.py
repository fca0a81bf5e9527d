"""How wrong an order of candidates is, with the derivative that training needs.

After Wang et al., "The LambdaLoss Framework for Ranking Metric Optimization" (CIKM 2018): a pair in
the wrong order weighs as much as its exchange would gain in DCG.
"""

from __future__ import annotations

import numpy as np

from .boosted_trees import Floats

_FARTHEST = 1e8


def lambda_rank_loss(
    preds: Floats, labels: Floats, k: int | None = None, eps: float = 1e-10, sigma: float = 1.0
) -> float:
    """The mean loss of the pairs among the first `k` scores; labels are throughputs."""
    return rank_loss_and_gradient(preds, labels, k, eps, sigma)[0]


def rank_loss_and_gradient(
    preds: Floats, labels: Floats, k: int | None = None, eps: float = 1e-10, sigma: float = 1.0
) -> tuple[float, Floats]:
    """The loss, and its derivative by each score."""
    order = np.argsort(-preds, kind="stable")
    scores, truth = preds[order].astype(np.float64), labels[order].astype(np.float64)
    pairs = truth[:, None] > truth[None, :]
    first = len(preds) if k is None else k
    pairs[first:], pairs[:, first:] = False, False
    count = int(pairs.sum())
    gradient = np.zeros(len(preds))
    if not count:
        return 0.0, gradient
    weights = _weights(truth, k, eps)
    apart = np.nan_to_num(np.clip(scores[:, None] - scores[None, :], -_FARTHEST, _FARTHEST))
    right = np.clip(_sigmoid(sigma * apart), eps, 1.0)
    losses = -np.log2(np.clip(right**weights, eps, 1.0))
    slope = np.where(pairs, -weights * sigma * (1 - right) / (np.log(2) * count), 0.0)
    gradient[order] = slope.sum(axis=1) - slope.sum(axis=0)
    return float(losses[pairs].mean()), gradient


def _weights(truth: Floats, k: int | None, eps: float) -> Floats:
    """How much DCG the exchange of two ranks changes."""
    truth = np.clip(truth, 0.0, None)
    discount = np.log2(2.0 + np.arange(len(truth)))
    best = ((2 ** np.sort(truth)[::-1] - 1) / discount)[:k].sum()
    gain = (2**truth - 1) / max(float(best), eps)
    ranks = np.abs(1 / discount[:, None] - 1 / discount[None, :])
    found: Floats = ranks * np.abs(gain[:, None] - gain[None, :])
    return found


def _sigmoid(x: Floats) -> Floats:
    found: Floats = 0.5 * (1 + np.tanh(0.5 * x))  # never overflows
    return found


def topk_score(pred_results: Floats, gt_results: Floats, k: int) -> float:
    """The best cost of all in relation to the best among the `k` that are predicted cheapest."""
    chosen = np.argsort(pred_results, kind="stable")[: min(k, len(pred_results))]
    return float(gt_results.min() / gt_results[chosen].min())
