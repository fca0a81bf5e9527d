"""The task from which most is to be expected."""

from __future__ import annotations

import pytest

from tests.meta_schedule.task_scheduler.test_task_scheduler import task, tune
from tvm.meta_schedule import derived_object
from tvm.meta_schedule.runner import PyRunner, RunnerFuture, RunnerInput, RunnerResult
from tvm.meta_schedule.task_scheduler import GradientBased

pytestmark = pytest.mark.pure


@derived_object
class TimeOfTheShape(PyRunner):
    """Programs of matrices take a thousand times as long as those of vectors."""

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        return [self._future(1.0 if len(i.args_info[0].shape) == 2 else 1e-3)
                for i in runner_inputs]  # fmt: skip

    def _future(self, secs: float) -> RunnerFuture:
        return RunnerFuture(lambda: True, lambda: RunnerResult([secs], None))


def test_slow_tasks_get_more() -> None:
    scheduler = GradientBased(seed=7)
    tune(scheduler, [task("Add"), task()], runner=TimeOfTheShape(), max_trials_global=30,
         max_trials_per_task=100)  # fmt: skip
    assert [len(t.latency_ms) for t in scheduler.tasks_] == [3, 27], "each at least once"


def test_weights_count() -> None:
    scheduler = GradientBased(seed=7)
    tasks = [task(), task()]
    tune(scheduler, tasks, runner=TimeOfTheShape(), max_trials_global=6)
    scheduler.tasks_[1].task_weight = 5.0
    assert scheduler._worth(1) == pytest.approx(5 * scheduler._worth(0))


def test_gains_count() -> None:
    scheduler = GradientBased(alpha=0.5, window_size=2)
    tune(scheduler, [task()], max_trials_global=0)
    scheduler._best_ms = [[8.0, 6.0, 4.0]]
    assert scheduler._worth(0) == pytest.approx(0.5 * (8 - 4) / 2 + 0.5 * 4 / 3)
    scheduler._best_ms = [[1e9]]
    assert scheduler._worth(0) is None
