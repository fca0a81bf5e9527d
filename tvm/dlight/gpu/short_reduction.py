"""Many results of few elements each, as pools have them: every result has a thread of its own."""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import BlockInfo
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule

from .base import GPUScheduleRule
from .fallback import Fallback
from .reduction import open_reduction

_SHORT, _MANY = 32, 4096  # elements of a result, and results


class ShortReduction(GPUScheduleRule):
    """Schedules functions of one short reduction with many results, and an injective epilogue."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        found = open_reduction(func) if self.is_target_available(target) else None
        if found is None or not _many_of_few(found[1]):
            return None
        return Fallback().apply(func, target, tunable)


def _many_of_few(info: BlockInfo) -> bool:
    (results, _), (steps, known) = info.known_size("S"), info.known_size("R")
    return known and steps < _SHORT and results > _MANY
