"""How good a ranking of candidates is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


def max_curve(trial_scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The best score so far after each trial: `[1, 3, 2] -> [1, 3, 3]`."""
    return np.maximum.accumulate(np.asarray(trial_scores))


def rank_correlation(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """How far two sequences have the same order: 1 for the same, -1 for the reverse."""
    ranks = [np.argsort(np.argsort(x, kind="stable"), kind="stable") for x in (one, other)]
    if len(one) < 2:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def make_metric_sorter(focused_metric: str) -> Callable[[tuple[str, float]], tuple[int, str]]:
    """A key that sorts (name, value) pairs so that the focused metric comes first."""

    def key(metric: tuple[str, float]) -> tuple[int, str]:
        return (0 if metric[0] == focused_metric else 1, metric[0])

    return key
