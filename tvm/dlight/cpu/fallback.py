"""Every other function: each block by its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.target import Target
from tvm.tir.expr import IntImm, IterVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.stmt import Block, BlockRealize

from .base import CPUScheduleRule, decompose, root_blocks, with_reason
from .general import Unscheduled, inline_epilogues
from .rows import schedule_rows
from .runs import Runs, as_runs
from .sliding import slide


class Fallback(CPUScheduleRule):
    """Schedules any function: fused loops, vectors, threads where they pay."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule; None for a function without blocks."""
        if not isinstance(func.body, BlockRealize):
            return None
        runs = _one_run(func)
        if runs is not None:
            return runs.schedule_of_planes(self._schedule(runs.func, target, windows=False))
        try:
            return self._schedule(func, target, windows=True)
        except ScheduleError:  # sizes of which too little is known
            return self._schedule(func, target, windows=False)

    def _schedule(self, func: PrimFunc, target: Target, *, windows: bool) -> Schedule:
        sch = open_schedule(func)
        inline_epilogues(sch)
        unscheduled = Unscheduled(sch)
        passes = schedule_rows(sch, target.cpu, unscheduled.pending)
        if passes is not None:
            decompose(sch, unscheduled.pending)
            return with_reason(sch, passes)
        reasons: list[str] = []
        if windows:
            sch, made, reasons = slide(sch, target.cpu)
            unscheduled = Unscheduled(sch)
            for block in root_blocks(sch):
                if sch.get(block) in made:
                    unscheduled.done(block)
            reasons += unscheduled.schedule_windows(target.cpu)
        return with_reason(sch, "; ".join([*reasons, *unscheduled.schedule(target.cpu)]))


def _one_run(func: PrimFunc) -> Runs | None:
    """The function with the last dimensions of what it makes, or sums over, as one.

    Where an extent is a symbol, rows that are neighbours in memory could not be told to be.
    """
    for plane in _planes(func):
        found = as_runs(func, plane)
        if found is not None:
            return found
    return None


def _planes(func: PrimFunc) -> Iterator[Sequence[PrimExpr]]:
    """Extents that may be one, those of most dimensions first."""
    assert isinstance(func.body, BlockRealize), "looked at by the caller"
    blocks = list(statements(func.body.block.body, Block))
    sums = [block for block in blocks if block.init is not None]
    if not blocks or not all(block.writes for block in blocks):
        return
    shape: Sequence[PrimExpr] = blocks[-1].writes[0].buffer.shape
    if sums:
        reducing = [iv for iv in sums[0].iter_vars if iv.iter_type == IterVar.CommReduce]
        shape = [iv.dom.extent for iv in reducing if iv.dom is not None]
    for first in range(len(shape) - 1):
        if all(isinstance(extent, IntImm) for extent in shape[first + 1 :]):
            return
        yield shape[first:]
