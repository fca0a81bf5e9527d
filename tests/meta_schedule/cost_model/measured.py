"""What random schedules of nine kernels took on a Zen 4 with two cores, and their features.

`python -m tests.meta_schedule.cost_model.measured` prints how well the order of the times is told.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.meta_schedule.schedules import scheduled
from tvm.meta_schedule import TuneContext
from tvm.meta_schedule.cost_model import XGBModel
from tvm.meta_schedule.cost_model.metric import rank_correlation
from tvm.meta_schedule.feature_extractor import FeatureExtractor
from tvm.meta_schedule.runner import RunnerResult
from tvm.meta_schedule.search_strategy import MeasureCandidate
from tvm.runtime import Tensor, tensor

FILE = Path(__file__).with_name("measured.npz")


class Measured(NamedTuple):
    """A schedule: a row of features for each block that stores, and the least time of some runs."""

    rows: npt.NDArray[np.float32]
    seconds: float


@functools.cache
def measured() -> dict[str, list[Measured]]:
    """All schedules, by kernel."""
    found = {}
    with np.load(FILE, allow_pickle=False) as stored:
        for name in sorted({key.partition(".")[0] for key in stored.files}):
            ends = np.cumsum(stored[f"{name}.counts"].astype(int))[:-1]
            rows = np.split(stored[f"{name}.rows"].astype(np.float32), ends)
            found[name] = [Measured(r, float(s)) for r, s in zip(rows, stored[f"{name}.seconds"])]
    return found


class Stored(FeatureExtractor):
    """Features that are known already, by identity of the candidate."""

    def __init__(self) -> None:
        self.known: dict[int, npt.NDArray[np.float32]] = {}

    def extract_from(self, context: TuneContext, candidates: list[Any]) -> list[Tensor]:
        return [tensor(self.known[id(c)]) for c in candidates]


def correlation(schedules: list[Measured], train: int, seed: int) -> float:
    """How far the model has the order of schedules, of which it saw `train`, right."""
    order = np.random.default_rng(seed).permutation(len(schedules))
    extractor = Stored()
    model = XGBModel(extractor=extractor, num_warmup_samples=0)
    program = scheduled()
    candidates = [MeasureCandidate(program, []) for _ in schedules]
    for candidate, one in zip(candidates, schedules):
        extractor.known[id(candidate)] = one.rows
    seen, unseen = order[:train], order[train:]
    context = TuneContext()
    results = [RunnerResult([schedules[i].seconds], None) for i in seen]
    model.update(context, [candidates[i] for i in seen], results)
    scores = model.predict(context, [candidates[i] for i in unseen])
    return rank_correlation(scores, np.array([-schedules[i].seconds for i in unseen]))


def main() -> None:
    """The mean over the kernels, for several numbers of measurements."""
    for train in (16, 32, 64, 128):
        found = [correlation(s, train, seed) for s in measured().values() for seed in (0, 1)]
        print(f"{train} measurements of a kernel: {np.mean(found):.3f}")


if __name__ == "__main__":
    main()
