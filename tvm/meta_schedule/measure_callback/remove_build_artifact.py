"""Delete compiled files once they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.meta_schedule.builder import BuilderResult
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.runner import RunnerResult
from tvm.meta_schedule.utils import remove_build_dir

from .measure_callback import MeasureCallback

if TYPE_CHECKING:
    from tvm.meta_schedule.task_scheduler import TaskScheduler


class RemoveBuildArtifact(MeasureCallback):
    """The folder of each compiled file goes."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Delete the folders."""
        for built in builder_results:
            if built.artifact_path is not None:
                remove_build_dir(built.artifact_path)
