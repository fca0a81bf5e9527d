"""The negative logarithm of likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np


def nll_loss(
    predictions: Any, targets: Any, weights: Any, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    """-predictions at the target class, weighted; classes `ignore_index` count nothing."""
    counted = targets != ignore_index
    safe = np.where(counted, targets, 0)
    used = np.where(counted, weights[safe], 0)
    if predictions.ndim == 1:
        picked = predictions[safe]
    else:
        picked = np.take_along_axis(predictions, safe[:, None], 1)[:, 0]
    each = -picked * used
    if reduction == "none":
        return each
    return each.sum() / used.sum() if reduction == "mean" else each.sum()
