"""A cheap score of decisions, learned while the search goes on, for thousands at a time.

Ridge regression over `features_of`, one for each space. It is taught what replayed schedules scored
with the cost model, and what measured ones took.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tvm.meta_schedule.ridge import Ridge
from tvm.tir.schedule import Trace

from .decision_space import Features, features_of

PENALTY = 10.0  # of standardized columns: few points for many columns in the first rounds
MAX_POINTS = 2048  # of a space; older ones are forgotten
MIN_POINTS = 8


class Surrogate:
    """Scores traces by number of space; higher is better."""

    def __init__(self) -> None:
        self._traces: dict[int, list[Trace]] = defaultdict(list)
        self._scores: dict[int, list[float]] = defaultdict(list)
        self._fitted: dict[int, Ridge] = {}  # of spaces of which nothing was learned since

    def learn(self, space: int, trace: Trace, score: float) -> None:
        """Remember a score; infinities are left out."""
        if np.isfinite(score):
            self._traces[space] = [*self._traces[space], trace][-MAX_POINTS:]
            self._scores[space] = [*self._scores[space], float(score)][-MAX_POINTS:]
            self._fitted.pop(space, None)

    def predict(self, spaces: Sequence[int], traces: Sequence[Trace]) -> Features:
        """A score for each trace; of a space that little is known of, the mean of all."""
        known = [score for scores in self._scores.values() for score in scores]
        found = np.full(len(traces), float(np.mean(known)) if known else 0.0)
        for space in sorted(set(spaces)):
            rows = [i for i, s in enumerate(spaces) if s == space]
            if len(self._scores[space]) >= MIN_POINTS:
                model = self._model(space)
                asked = features_of([traces[i] for i in rows])
                if asked.shape[1] == len(model.weights):
                    found[rows] = model.predict(asked)
        return found

    def _model(self, space: int) -> Ridge:
        if space not in self._fitted:
            known = features_of(self._traces[space])
            self._fitted[space] = Ridge(PENALTY).fit(known, np.asarray(self._scores[space]))
        return self._fitted[space]
