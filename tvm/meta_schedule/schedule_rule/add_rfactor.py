"""Reduce in parts that can run at the same time, where nothing else can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.meta_schedule.rule_kind import number_of_cores, require_target
from tvm.meta_schedule.structure import RANDOM_PRODUCER, needs_parallel_reduction
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError

from .reductions import fuse_reduction_loops
from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class AddRFactor(ScheduleRule):
    """Splits a long reduction with few results in two, and factors one of the loops out.

    for i, k: C[i] += A[i, k]   ->   for i, k1: for k0: C_rf[k1, i] += A[i, k0 * n + k1]
                                     for i, k1: C[i] += C_rf[k1, i]
    """

    def __init__(
        self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None
    ) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self.max_innermost_factor = max_innermost_factor
        self._most = -1

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        cores = number_of_cores(require_target(context.target, "AddRFactor"))
        self._most = cores * self.max_jobs_per_core if self.max_jobs_per_core != -1 else -1

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule with the outer loop factored out, with the inner one, and as it was."""
        sref = sch.get_sref(block)
        if not needs_parallel_reduction(sch.state, sref, self._most):
            return [sch]
        before = _copied(sch)
        loop, spatial = fuse_reduction_loops(sch, block)
        factors = sch.sample_perfect_tile(
            loop, n=2, max_innermost_factor=self.max_innermost_factor or -1
        )
        outer, inner = sch.split(loop, [*factors])
        found = [_factored(sch, block, part, spatial) for part in (outer, inner)]
        return [*[made for made in found if made is not None], before]


def _copied(sch: Schedule) -> Schedule:
    sch.fork_seed()  # two draws for a copy: the samples of a seed rest on it
    return sch.copy()


def _factored(sch: Schedule, block: BlockRV, loop: LoopRV, axis: int) -> Schedule | None:
    made = _copied(sch)
    try:
        factored = made.rfactor(loop, axis)
    except ScheduleError:
        return None
    made.get_loops(factored)  # part of the trace that recorded searches have
    made.annotate(block, RANDOM_PRODUCER, 1)
    return made
