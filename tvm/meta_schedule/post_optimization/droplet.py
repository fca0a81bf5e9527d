"""Go from a measured schedule to its best neighbour until none is faster.

Neighbours differ in the position of one knob. While there are few of them, those that differ by
more steps are measured with them. After Canesche et al., "The Droplet Search Algorithm for Kernel
Scheduling" (TACO 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvm.meta_schedule.database import Workload
from tvm.meta_schedule.utils import cpu_count
from tvm.support.json_text import from_json
from tvm.target.target import Target

from .space import Space

Point = tuple[int, ...]
_MIN_BATCH = 4


class Droplet:
    """The search from the record in `json_file`; what it measures goes to the file `log`.

    `workload_file` is a line of a file of workloads, as text or read, or the path of a file with
    one. Another schedule is better if the chance that it only seems so is at most `pvalue`.
    """

    def __init__(
        self, json_file: str, workload_file: Any, target: Target, log: str, pvalue: float = 0.05
    ) -> None:
        record = from_json(Path(json_file).read_text(encoding="utf-8").splitlines()[0])
        self.space = Space(record, _workload(workload_file), target)
        self.final_log = log
        self.pvalue = pvalue
        self.best_choice: Point = tuple(self.space.start)
        self.best_bench: list[float] = record[1][1]
        self.visited: set[Point] = {self.best_choice}
        self.batch = max(cpu_count(logical=True), _MIN_BATCH)
        self.next: list[Point] = []
        self.execution = 1
        self._asked: list[Point] = []
        self._restart()

    def _restart(self) -> None:
        self.execution = 1
        self.next = self.next_pos(self.search_space())
        self.speculation()

    def next_batch(self, batch_size: int) -> list[list[float]]:
        """Measure the next points; the seconds of each."""
        self._asked, self.next = self.next[:batch_size], self.next[batch_size:]
        records = [self.space.template(point, create=False) for point in self._asked]
        return self.space.run(records, self.final_log)

    def has_next(self) -> bool:
        """Whether there are points to measure."""
        return bool(self.next)

    def tune(self, n_trial: int = 100) -> None:
        """Measure at most `n_trial` points."""
        while n_trial > 0 and self.has_next():
            results = self.next_batch(min(self.batch, n_trial))
            n_trial -= len(results)
            self.update(results)

    def num_to_bin(self, value: int, factor: int = 1) -> list[int]:
        """The bits of a number, one a knob with the highest first, times `factor`."""
        dims = len(self.space.dims)
        return [((value >> bit) & 1) * factor for bit in range(dims - 1, -1, -1)]

    def search_space(self, factor: int = 1) -> list[list[int]]:
        """All moves of one knob by `factor` steps."""
        knobs = range(len(self.space.dims))
        return [self.num_to_bin(1 << k, way) for k in knobs for way in (factor, -factor)]

    def next_pos(self, new_positions: Sequence[Sequence[int]]) -> list[Point]:
        """The points that moves reach from the best one: legal, and not asked for before."""
        found = []
        for move in new_positions:
            point = tuple(at + step for at, step in zip(self.best_choice, move))
            inside = all(0 <= at < dim for at, dim in zip(point, self.space.dims))
            if inside and point not in self.visited:
                self.visited.add(point)
                if self.space.template(point, create=False) is not None:
                    found.append(point)
        return found

    def speculation(self) -> None:
        """Fill the batch with points further away."""
        while len(self.next) < self.batch and self.execution < max(self.space.dims, default=0):
            self.execution += 1
            self.next += self.next_pos(self.search_space(self.execution))

    def update(self, results: Sequence[Sequence[float]]) -> None:
        """Go to the best point that was measured, if it is better."""
        better = False
        for point, run_secs in zip(self._asked, results):
            if np.mean(run_secs) < np.mean(self.best_bench) and self._differs(run_secs):
                self.best_choice, self.best_bench, better = point, list(run_secs), True
        if better:
            self._restart()

    def _differs(self, run_secs: Sequence[float]) -> bool:
        if len(run_secs) < 2 or len(self.best_bench) < 2:
            return True  # nothing is known of the noise
        return p_value(run_secs, self.best_bench) <= self.pvalue


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """How likely two samples of one mean differ so much: Welch's test, both sides."""
    sizes = np.array([len(first), len(second)], float)
    spread = np.array([np.var(first, ddof=1), np.var(second, ddof=1)]) / sizes
    if spread.sum() == 0:
        return float(np.mean(first) == np.mean(second))
    t = abs(float(np.mean(first) - np.mean(second))) / np.sqrt(spread.sum())
    freedom = spread.sum() ** 2 / (spread**2 / (sizes - 1)).sum()
    return 2 * _upper_tail(float(t), float(freedom))


def _upper_tail(t: float, freedom: float) -> float:
    """Student's distribution above `t`: with x = sqrt(f) tan(a) its density is cos(a)**(f - 1)."""
    angles = np.linspace(0, np.pi / 2, 20001)
    density = np.cos(angles) ** max(freedom - 1, 0.0)
    steps = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    below = np.interp(np.arctan(t / np.sqrt(freedom)), angles, steps / steps[-1])
    return float((1 - below) / 2)


def _workload(given: Any) -> Workload:
    if isinstance(given, Workload):
        return given
    if isinstance(given, str) and not given.lstrip().startswith("["):
        given = Path(given).read_text(encoding="utf-8").splitlines()[0]
    return Workload.from_json(given)
