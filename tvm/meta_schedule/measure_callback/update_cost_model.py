"""Teach the cost model what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.meta_schedule.builder import BuilderResult
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.runner import RunnerResult

from .measure_callback import MeasureCallback

if TYPE_CHECKING:
    from tvm.meta_schedule.task_scheduler import TaskScheduler


class UpdateCostModel(MeasureCallback):
    """The model learns from all candidates that could be compiled."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Update the model of the scheduler, if it has one."""
        model = task_scheduler.cost_model_
        if model is None:
            return
        built = [i for i, result in enumerate(builder_results) if result.error_msg is None]
        model.update(
            task_scheduler.tasks_[task_id].ctx,
            [measure_candidates[i] for i in built],
            [runner_results[i] for i in built],
        )
