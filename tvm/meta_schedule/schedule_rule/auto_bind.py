"""Each block runs on blocks and threads of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.meta_schedule.rule_kind import limit, require_target
from tvm.tir.schedule import BlockRV, Schedule

from .schedule_rule import ScheduleRule
from .thread_binding import bind_block, sampled_factor

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class AutoBind(ScheduleRule):
    """Fuses the outer data-parallel loops of a block, and binds them where no thread is bound.

    for i, j: S   ->   for i_j_fused_0 in blockIdx.x: for i_j_fused_1 in threadIdx.x: S
    """

    def __init__(
        self,
        max_threadblocks: int = 256,
        thread_extents: Sequence[int] | None = None,
        max_threads_per_block: int = -1,
    ) -> None:
        self.max_threadblocks = max_threadblocks
        self.thread_extents = list(thread_extents or (32, 64, 128, 256, 512, 1024))
        self.max_threads_per_block = max_threads_per_block

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        target = require_target(context.target, "AutoBind")
        self.max_threads_per_block = limit(target, "max_threads_per_block")

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule with the block bound."""
        if self.max_threads_per_block == -1:
            require_target(None, "AutoBind")
        bind_block(
            sch, block, self.max_threadblocks, self.max_threads_per_block,
            lambda most: sampled_factor(sch, self.thread_extents, most),
        )  # fmt: skip
        return [sch]
