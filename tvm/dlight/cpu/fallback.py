"""Every other function: each block by its kind."""

from __future__ import annotations

from tvm.dlight.base import open_schedule
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.stmt import BlockRealize

from .base import CPUScheduleRule, decompose, root_blocks, with_reason
from .general import Rest, inline_epilogues
from .rows import schedule_rows
from .sliding import slide


class Fallback(CPUScheduleRule):
    """Schedules any function: fused loops, vectors, threads where they pay."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule; None for a function without blocks."""
        if not isinstance(func.body, BlockRealize):
            return None
        try:
            return self._schedule(func, target, windows=True)
        except ScheduleError:  # sizes of which too little is known
            return self._schedule(func, target, windows=False)

    def _schedule(self, func: PrimFunc, target: Target, *, windows: bool) -> Schedule:
        sch = open_schedule(func)
        inline_epilogues(sch)
        rest = Rest(sch)
        passes = schedule_rows(sch, target.cpu, rest.later)
        if passes is not None:
            decompose(sch, rest.later)
            return with_reason(sch, passes)
        reasons: list[str] = []
        if windows:
            sch, made, reasons = slide(sch, target.cpu)
            rest = Rest(sch)
            for block in root_blocks(sch):
                if sch.get(block) in made:
                    rest.done(block)
            reasons += rest.schedule_windows(target.cpu)
        return with_reason(sch, "; ".join([*reasons, *rest.schedule(target.cpu)]))
