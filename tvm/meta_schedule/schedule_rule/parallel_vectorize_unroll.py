"""Marks how much runs in parallel, in vectors and unrolled; a postprocessor does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.meta_schedule.rule_kind import number_of_cores, require_target
from tvm.meta_schedule.structure import (
    PARALLEL,
    UNROLL_EXPLICIT,
    UNROLL_IMPLICIT,
    VECTORIZE,
    in_spatial_func,
    is_root,
)
from tvm.tir.schedule import BlockRV, Schedule

from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Annotates the root block; -1 for jobs or the vector extent, and no steps, leave that out."""

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self.max_vectorize_extent = max_vectorize_extent
        self.unroll_max_steps = list(unroll_max_steps or ())
        self.unroll_explicit = unroll_explicit
        self._max_parallel = -1

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        if self.max_jobs_per_core != -1:
            target = require_target(context.target, "ParallelizeVectorizeUnroll")
            self._max_parallel = number_of_cores(target) * self.max_jobs_per_core

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, annotated if the block is the root."""
        if not is_root(sch.get_sref(block)):
            return [sch]
        if self.max_jobs_per_core != -1:
            sch.annotate(block, PARALLEL, self._max_parallel)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, VECTORIZE, self.max_vectorize_extent)
        steps = self.unroll_max_steps
        if steps and not in_spatial_func(sch, block):
            step = sch.sample_categorical(steps, [1.0 / len(steps)] * len(steps))
            sch.annotate(block, UNROLL_EXPLICIT if self.unroll_explicit else UNROLL_IMPLICIT, step)
        return [sch]
