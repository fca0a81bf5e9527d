"""What the rules for GPUs share."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.dlight.base import ScheduleRule
from tvm.target.target import Target
from tvm.tir.schedule import LoopRV, Schedule


class GPUScheduleRule(ScheduleRule):
    """A rule for targets that are GPUs."""

    def is_target_available(self, target: Target) -> bool:
        """True for GPUs."""
        return super().is_target_available(target) and "gpu" in target.keys


def unroll_within(sch: Schedule, loop: LoopRV, steps: int) -> None:
    """Ask for the loops below to be unrolled, up to `steps` statements."""
    sch.annotate(loop, "pragma_auto_unroll_max_step", steps)
    sch.annotate(loop, "pragma_unroll_explicit", 1)


def largest_divisor(number: int, candidates: Sequence[int]) -> int:
    """The largest of the candidates that divides the number; 1 if none does."""
    return max((c for c in candidates if number % c == 0), default=1)
