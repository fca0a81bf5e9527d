"""Every other function: the data-parallel loops of a block are shared out, the others run inside.

    for i, j, k: C[i, j] += ...    ->    for bx in blockIdx.x: for tx in threadIdx.x:
                                             C[...] = 0
                                             for k: C[...] += ...
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import (
    BlockInfo,
    launches_threads,
    normalize_prim_func,
)
from tvm.dlight.base import max_threads_per_block, open_schedule, try_inline
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

from .base import GPUScheduleRule
from .opaque_loops import with_threads_in_opaque_blocks


class Fallback(GPUScheduleRule):
    """Gives each block of any function threads of its own."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule; None if a block's loops are not its variables."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(with_threads_in_opaque_blocks(func, target))
        blocks = [sch.get(block) for block in sch.get_child_blocks(sch.get_block("root"))]
        if blocks and all(not block.iter_vars and launches_threads(block.body) for block in blocks):
            return None  # it has its threads already
        infos = normalize_prim_func(sch)
        if not infos:
            return None
        threads = max_threads_per_block(target)
        reductions: list[tuple[BlockRV, LoopRV]] = []
        for info in try_inline(sch, infos):
            loop = bind_results(sch, info, threads)
            if loop is not None:
                reductions.append((info.block_rv, loop))
        # Last: afterwards two blocks write one buffer.
        for block, loop in reductions:
            sch.decompose_reduction(block, loop)
        return sch


def bind_results(sch: Schedule, info: BlockInfo, threads: int) -> LoopRV | None:
    """Threads for the results of a block; returns the outermost loop that reduces."""
    loops = sch.get_loops(info.block_rv)
    if any(sch.get(loop).thread_binding is not None for loop in loops):
        return None
    if launches_threads(sch.get(info.block_rv).body):
        return None
    kinds = info.dom_kind()
    spatial, reducing, other = (
        [loop for loop, kind in zip(loops, kinds) if kind == wanted] for wanted in "SRO"
    )
    spatial = spatial or [sch.add_unit_loop(info.block_rv)]
    sch.reorder(*spatial, *reducing, *other)
    block, thread = sch.split(sch.fuse(*spatial), factors=[None, threads])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    return reducing[0] if reducing else None
