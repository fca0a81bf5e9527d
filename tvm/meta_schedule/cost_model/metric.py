"""How good a ranking of candidates is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def max_curve(trial_scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The best score so far after each trial: `[1, 3, 2] -> [1, 3, 3]`."""
    return np.maximum.accumulate(np.asarray(trial_scores))
