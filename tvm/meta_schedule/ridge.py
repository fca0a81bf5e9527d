"""Linear regression with a penalty on large weights, for fewer points than columns as well."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Ridge:
    """Predicts from rows of numbers; `penalty` is that of standardized columns."""

    def __init__(self, penalty: float) -> None:
        self.penalty: Final = penalty
        self.mean: Floats = np.zeros(0)  # of the columns
        self.weights: Floats = np.zeros(0)
        self.middle = 0.0  # of the targets

    def fit(self, rows: npt.NDArray[np.floating], targets: Floats) -> Ridge:
        """Learn the targets of rows, (points, columns) and (points,)."""
        known = rows.astype(np.float64)
        self.mean, spread = known.mean(axis=0), known.std(axis=0)
        spread[spread == 0.0] = 1.0
        self.middle = float(targets.mean())
        left, right = (known - self.mean) / spread, targets - self.middle
        points, columns = left.shape
        if points < columns:  # the smaller of the two equal forms
            gram = left @ left.T + self.penalty * np.eye(points)
            weights = left.T @ np.linalg.solve(gram, right)
        else:
            gram = left.T @ left + self.penalty * np.eye(columns)
            weights = np.linalg.solve(gram, left.T @ right)
        self.weights = weights / spread
        return self

    def predict(self, rows: npt.NDArray[np.floating]) -> Floats:
        """The target of each row, (points, columns) -> (points,)."""
        found: Floats = (rows.astype(np.float64) - self.mean) @ self.weights + self.middle
        return found
