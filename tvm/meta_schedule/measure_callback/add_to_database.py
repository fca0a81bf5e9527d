"""Keep what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.meta_schedule.builder import BuilderResult
from tvm.meta_schedule.database import TuningRecord
from tvm.meta_schedule.database.record import UNMEASURED_SECS
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.runner import RunnerResult

from .measure_callback import MeasureCallback

if TYPE_CHECKING:
    from tvm.meta_schedule.task_scheduler import TaskScheduler


class AddToDatabase(MeasureCallback):
    """A record for each candidate; of those that failed one that says so."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Commit the records to the database of the scheduler, if it has one."""
        database, context = task_scheduler.database_, task_scheduler.tasks_[task_id].ctx
        if database is None:
            return
        assert context.mod is not None, "a task has a module"
        workload = database.commit_workload(context.mod)
        for candidate, result in zip(measure_candidates, runner_results):
            run_secs = [UNMEASURED_SECS] if result.run_secs is None else result.run_secs
            record = TuningRecord(
                candidate.sch.trace, workload, run_secs, context.target, candidate.args_info
            )
            database.commit_trial(record, result.error_msg)
