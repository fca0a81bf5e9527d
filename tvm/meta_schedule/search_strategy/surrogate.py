"""A cheap score of decisions, learned while the search goes on, for thousands at a time.

Ridge regression over `features_of`, one for each space. It is taught what replayed schedules scored
with the cost model, and what measured ones took.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tvm.tir.schedule import Trace

from .decision_space import Features, features_of

RIDGE = 1.0  # of standardized columns: few points for many columns in the first rounds
MOST_POINTS = 2048  # of a space; older ones are forgotten
FEWEST_POINTS = 8


class Surrogate:
    """Scores traces by number of space; higher is better."""

    def __init__(self) -> None:
        self._traces: dict[int, list[Trace]] = defaultdict(list)
        self._scores: dict[int, list[float]] = defaultdict(list)

    def learn(self, space: int, trace: Trace, score: float) -> None:
        """Remember a score; infinities are left out."""
        if np.isfinite(score):
            self._traces[space] = [*self._traces[space], trace][-MOST_POINTS:]
            self._scores[space] = [*self._scores[space], float(score)][-MOST_POINTS:]

    def predict(self, spaces: Sequence[int], traces: Sequence[Trace]) -> Features:
        """A score for each trace; of a space that little is known of, the mean of all."""
        known = [score for scores in self._scores.values() for score in scores]
        found = np.full(len(traces), float(np.mean(known)) if known else 0.0)
        for space in sorted(set(spaces)):
            rows = [i for i, s in enumerate(spaces) if s == space]
            if len(self._scores[space]) >= FEWEST_POINTS:
                found[rows] = self._predict(space, [traces[i] for i in rows])
        return found

    def _predict(self, space: int, traces: list[Trace]) -> Features:
        both = features_of([*self._traces[space], *traces])
        count = len(self._traces[space])
        known, asked = both[:count], both[count:]
        targets = np.asarray(self._scores[space])
        mean, spread = known.mean(axis=0), known.std(axis=0)
        spread[spread == 0.0] = 1.0
        left, middle = (known - mean) / spread, targets.mean()
        # the smaller of the two equal forms: as many equations as points
        gram = left @ left.T + RIDGE * np.eye(count)
        weights = left.T @ np.linalg.solve(gram, targets - middle)
        predicted: Features = ((asked - mean) / spread) @ weights + middle
        return predicted
