"""The task from which most is to be expected, after "Ansor" (Zheng et al., OSDI 2020), section 6.

What a further batch of a task is worth is estimated from how much the last ones gained, and from
how much would be left if its best latency fell in proportion to the number of batches.
"""

from __future__ import annotations

from logging import Logger

from tvm.meta_schedule.runner import RunnerResult
from tvm.tir.schedule.random_engine import RandomEngine

from .task_record import NO_LATENCY_MS, mean_latency_ms
from .task_scheduler import TaskScheduler


class GradientBased(TaskScheduler):
    """`alpha` is the weight of the last `window_size` batches against the outlook."""

    def __init__(
        self,
        *,
        alpha: float = 0.2,
        window_size: int = 3,
        seed: int = -1,
        logger: Logger | None = None,
    ) -> None:
        super().__init__(logger=logger)
        self.alpha = alpha
        self.window_size = window_size
        self._engine = RandomEngine(seed)
        self._warmed_up = 0
        self._best_ms: list[list[float]] = []  # of each task, after each of its batches

    def _reset(self) -> None:
        self._warmed_up, self._best_ms = 0, []

    def next_task_id(self) -> int:
        """Each task once; then the one that is worth most."""
        count = len(self.tasks_)
        if self._warmed_up < count:
            self._warmed_up += 1
            self._best_ms.append([])
            return self._warmed_up - 1
        if self._warmed_up == count:
            self._warmed_up += 1
            for i, task in enumerate(self.tasks_):
                if task.runner_futures is not None:
                    self.join_running_task(i)
        return self._most_promising()

    def _most_promising(self) -> int:
        for i in range(len(self.tasks_)):
            self.touch_task(i)
        alive = [i for i, task in enumerate(self.tasks_) if not task.is_terminated]
        if not alive:
            return -1
        worth = {i: self._worth(i) for i in alive}
        known = [i for i in alive if worth[i] is not None]
        # nothing that ran, nothing to compare: any may be the one
        chosen = max(known, key=lambda i: worth[i] or 0.0) if known else (
            alive[self._engine.below(len(alive))]
        )  # fmt: skip
        if self.tasks_[chosen].runner_futures is not None:
            self.join_running_task(chosen)
        return chosen

    def _worth(self, task_id: int) -> float | None:
        """What another batch is expected to gain; None for a task of which nothing ran."""
        history, window = self._best_ms[task_id], self.window_size
        if not history or history[-1] >= NO_LATENCY_MS:
            return None
        best, count = history[-1], len(history)
        gained = (history[-1 - window] - best) / window if count > window else 0.0
        outlook = best / count
        mixed = self.alpha * gained + (1 - self.alpha) * outlook
        return mixed * self.tasks_[task_id].task_weight

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """Wait for the batch of a task, and note its best latency so far."""
        results = super().join_running_task(task_id)
        history = self._best_ms[task_id]
        before = history[-1] if history else NO_LATENCY_MS
        history.append(min([before, *(mean_latency_ms(r) for r in results)]))
        return results
