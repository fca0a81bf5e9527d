"""Reductions with few results, among other blocks: the threads of a block share each result.

    for i, k: C[i] = max(C[i], ...)    ->    for i in blockIdx.x:
                                                 for tx in threadIdx.x: for k_outer: C[i] = max(...)

These are what remains of long reductions: several in one function (a variance and its mean), those
with a pair of results (a maximum and its index) along any axis, and those of gathered elements.
Blocks with many results, and short sums, get a thread a result, as with `Fallback`.
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import BlockInfo, normalize_prim_func
from tvm.dlight.base import max_threads_per_block, open_schedule, try_inline
from tvm.target.gpu_tuning import gpu_tuning
from tvm.target.target import Target
from tvm.tir.analysis.reducer import reducer_of
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

from .base import GPUScheduleRule
from .fallback import bind_results

_MAX_RESULTS = 4096  # more of them fill a machine, a thread each
_SHORT = 64  # elements that one thread may well reduce


class FewResults(GPUScheduleRule):
    """Schedules functions some of whose reductions are long and have few results."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is such a reduction."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        infos = normalize_prim_func(sch)
        if not infos or not any(_is_long_with_few_results(sch, info) for info in infos):
            return None
        width = gpu_tuning(target).reduction[0]
        reductions: list[tuple[BlockRV, LoopRV]] = []
        for info in try_inline(sch, infos):
            if _is_long_with_few_results(sch, info):
                _over_threads(sch, info, width)
                continue
            loop = bind_results(sch, info, max_threads_per_block(target))
            if loop is not None:
                reductions.append((info.block_rv, loop))
        for block, loop in reductions:  # last: afterwards two blocks write one buffer
            sch.decompose_reduction(block, loop)
        return sch


def _is_long_with_few_results(sch: Schedule, info: BlockInfo) -> bool:
    """Sizes that are not known are taken for long, and for one result each."""
    kinds = info.dom_kind()
    if "R" not in kinds or "O" in kinds or reducer_of(sch.get(info.block_rv)) is None:
        return False
    (results, _), (steps, known) = info.known_size("S"), info.known_size("R")
    return results <= _MAX_RESULTS and (not known or steps >= _SHORT)


def _over_threads(sch: Schedule, info: BlockInfo, width: int) -> None:
    loops = sch.get_loops(info.block_rv)
    spatial = [loop for loop, kind in zip(loops, info.dom_kind()) if kind == "S"]
    reducing = [loop for loop, kind in zip(loops, info.dom_kind()) if kind == "R"]
    spatial = spatial or [sch.add_unit_loop(info.block_rv)]
    sch.reorder(*spatial, *reducing)
    row, steps = sch.fuse(*spatial), sch.fuse(*reducing)
    outer, thread = sch.split(steps, factors=[None, width])
    sch.reorder(thread, outer)
    sch.bind(row, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
