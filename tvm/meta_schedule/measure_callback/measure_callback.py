"""What a callback is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from tvm.meta_schedule.base import Component, unknown_kind
from tvm.meta_schedule.builder import BuilderResult
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.runner import RunnerResult

if TYPE_CHECKING:
    from tvm.meta_schedule.task_scheduler import TaskScheduler


class MeasureCallback(Component):
    """Told of each batch, before the candidates are forgotten."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Do something with the results; all three sequences have the same order."""
        self._missing("Apply")

    @staticmethod
    def create(kind: str = "default") -> list[MeasureCallback]:
        """The callbacks of a kind: by default keep records, delete files, teach the model."""
        from .add_to_database import AddToDatabase  # which are of our kind
        from .remove_build_artifact import RemoveBuildArtifact
        from .update_cost_model import UpdateCostModel

        if kind != "default":
            raise unknown_kind("MeasureCallback", kind, ("default",))
        return [AddToDatabase(), RemoveBuildArtifact(), UpdateCostModel()]


CallbackListType: TypeAlias = list[MeasureCallback] | MeasureCallback | Literal["default"]
MeasureCallback.CallbackListType = CallbackListType  # type: ignore[attr-defined]  # in signatures
create = MeasureCallback.create


class PyMeasureCallback(MeasureCallback):
    """The base of callbacks that users write."""
