"""Products on phones with plain weights: the rows of the first factor are packed in panels first.

    C[m, n] += A[m, k] * B[k, n]
    ->
    one kernel writes P[m // 16, k, m % 16], padded, so that a thread loads its rows as one vector
    one kernel adds: threads in x over columns n, in y over panels; C stays in registers
"""

from __future__ import annotations

from tvm.dlight.base import get_extent
from tvm.target.gpu_tuning import ProductTiles
from tvm.tir.expr import Var
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError

from .base import largest_divisor
from .inline import auto_inline_consumer_chain, auto_inline_producers

_STEPS = (4, 8)  # of the sum: in a loop, unrolled


def with_row_panels(sch: Schedule, config: ProductTiles, block: BlockRV) -> Schedule | None:
    """The schedule; None unless there is one batch and only the number of rows is symbolic."""
    loops = sch.get_loops(block)
    if len(loops) != 4:
        return None
    batch, rows, columns, steps = (get_extent(sch, loop) for loop in loops)
    if batch != 1 or not isinstance(rows, Var):
        return None
    if not isinstance(columns, int) or not isinstance(steps, int):
        return None
    lanes = min(largest_divisor(columns // config.block_size_x, [1, 2, 4, 8]), config.vector_size)
    try:
        _Panels(sch, config, lanes, block).run()
    except ScheduleError:
        return None  # a block around the product cannot follow it
    return sch


class _Panels:
    def __init__(self, sch: Schedule, config: ProductTiles, lanes: int, block: BlockRV) -> None:
        self.sch, self.config, self.lanes, self.block = sch, config, lanes, block
        self.height = config.unroll

    def run(self) -> None:
        sch, block, height = self.sch, self.block, self.height
        auto_inline_producers(sch, block)
        sch.reindex(block, ("read", 0))
        sch.pad_einsum(block, [1, height, 1, 1])
        padded, crop = sch.get_producers(block)[0], sch.get_consumers(block)[0]
        sch.transform_layout(padded, ("write", 0), lambda b, m, k: [b, m // height, k, m % height])
        auto_inline_producers(sch, padded)
        while len(readers := sch.get_consumers(crop)) == 1:
            sch.compute_inline(crop)
            crop = readers[0]
        auto_inline_consumer_chain(sch, crop)
        panel = sch.cache_read(block, 0, "local")
        sch.set_scope(block, 0, "local")
        self._pack(padded)
        thread, slices, step = self._bind()
        sch.reverse_compute_at(crop, thread)
        sch.compute_at(panel, step, preserve_unit_loops=True)
        sch.vectorize(sch.get_loops(panel)[-1])
        row, column = sch.get_loops(crop)[-2:]
        sch.unroll(row)
        sch.vectorize(column)
        sch.decompose_reduction(block, slices)

    def _pack(self, padded: BlockRV) -> None:
        """The kernel that writes the panels."""
        sch, c = self.sch, self.config
        batch, rows, k = sch.get_loops(padded)
        bx, tx = sch.split(k, [None, c.block_size_x])
        by, ty, lane = sch.split(rows, [None, c.block_size_y, self.height])
        sch.reorder(batch, by, bx, ty, tx, lane)
        for loop, axis in ((batch, "blockIdx.z"), (by, "blockIdx.y"), (bx, "blockIdx.x"),
                           (ty, "threadIdx.y"), (tx, "threadIdx.x")):  # fmt: skip
            sch.bind(loop, axis)
        sch.vectorize(lane)

    def _bind(self) -> tuple[LoopRV, LoopRV, LoopRV]:
        """Split and bind; returns the loop of threads over panels, the outermost of the sum, and
        its innermost."""
        sch, c = self.sch, self.config
        batch, rows, columns, k = sch.get_loops(self.block)
        rows = sch.fuse(batch, rows)
        bx, tx, lane = sch.split(columns, [None, c.block_size_x, self.lanes])
        by, ty, row = sch.split(rows, [None, c.block_size_y, self.height])
        slices, inner, step = sch.split(k, [None, *_STEPS])
        sch.reorder(bx, by, tx, ty, slices, inner, step, row, lane)
        for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"),
                           (tx, "threadIdx.x")):  # fmt: skip
            sch.bind(loop, axis)
        sch.unroll(step)
        sch.unroll(row)
        sch.vectorize(lane)
        return ty, slices, step
