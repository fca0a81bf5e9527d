"""Products on phones with weights of a few bits, which each thread unpacks on the way.

    W[k, n] = unpacked from words, times a scale; C[m, n] += A[m, k] * W[k, n]
    ->
    threads in x over columns n, in y over rows m; a slice of A in shared memory;
    words and scales are loaded where they are used first, W itself stays in registers
"""

from __future__ import annotations

from tvm.dlight.analysis.dequantize import is_dequantization
from tvm.dlight.base import get_extent
from tvm.target.gpu_tuning import ProductTiles
from tvm.tir.expr import IterVar, Var
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.stmt import Block

from .base import largest_divisor

_PACKED = (4, 8)  # words that share a scale, elements of a word


def sums_along_memory(block: Block) -> bool:
    """Whether the last index of the second factor is summed over."""
    last = block.reads[-1].region[-1].min
    return any(iv.var is last and iv.iter_type == IterVar.CommReduce for iv in block.iter_vars)


def with_dequantized_weights(
    sch: Schedule, config: ProductTiles, block: BlockRV, blocks: list[BlockRV]
) -> Schedule | None:
    """The schedule; None unless a block of weights is unpacked and only the rows are symbolic."""
    loops = sch.get_loops(block)
    if len(loops) != 4:
        return None
    batch, rows, columns, steps = (get_extent(sch, loop) for loop in loops)
    sizes = (batch, columns, steps)
    if not isinstance(rows, Var) or not all(isinstance(size, int) for size in sizes):
        return None
    position = next(i for i, other in enumerate(blocks) if sch.get(other) is sch.get(block))
    unpack = [b for b in blocks[:position] if is_dequantization(sch.get(b))]
    if len(unpack) != 1 or len(blocks) - position > 2 or len(sch.get(unpack[0]).reads) < 2:
        return None
    assert isinstance(columns, int), "checked above"
    lanes = min(largest_divisor(columns // config.block_size_x, [1, 2, 4, 8]), config.vector_size)
    for other in blocks[:position]:
        if other is not unpack[0]:
            sch.compute_inline(other)
    epilogue = blocks[position + 1] if len(blocks) > position + 1 else None
    _Columns(sch, config, lanes, block).run(unpack[0], epilogue)
    return sch


class _Columns:
    def __init__(self, sch: Schedule, config: ProductTiles, lanes: int, block: BlockRV) -> None:
        self.sch, self.config, self.lanes, self.block = sch, config, lanes, block

    def run(self, unpack: BlockRV, epilogue: BlockRV | None) -> None:
        sch, c, block = self.sch, self.config, self.block
        batch, rows, _, _ = sch.get_loops(block)
        width = c.block_size_x * self.lanes
        sch.pad_einsum(block, [1, c.block_size_y * c.unroll, width, 1])
        padded = next(p for p in sch.get_producers(block) if sch.get_sref(p) is not
                      sch.get_sref(unpack))  # fmt: skip
        crop = sch.get_consumers(block)[0]
        rows = sch.fuse(batch, rows)
        thread, steps = self._bind(rows)
        sch.compute_at(padded, steps[0])
        sch.compute_at(unpack, steps[3])
        sch.reverse_compute_at(crop, thread)
        sch.set_scope(padded, 0, "shared")
        sch.set_scope(block, 0, "local")
        sch.set_scope(unpack, 0, "local")
        for made in (block, unpack):
            sch.vectorize(sch.get_loops(made)[-1])
        outer, vec = sch.split(sch.get_loops(padded)[-1], [None, self.lanes])
        sch.bind(outer, "threadIdx.x")
        sch.vectorize(vec)
        self._words_and_scales(unpack, steps)
        if epilogue is not None:
            sch.reverse_compute_at(epilogue, thread, preserve_unit_loops=True)
            sch.compute_inline(crop)
            crop = epilogue
        sch.vectorize(sch.get_loops(crop)[-1])
        sch.decompose_reduction(block, steps[0])

    def _bind(self, rows: LoopRV) -> tuple[LoopRV, list[LoopRV]]:
        """Split and bind; returns the loop of threads over rows, and those over the sum."""
        sch, c = self.sch, self.config
        _, columns, k = sch.get_loops(self.block)
        by, ty, mu = sch.split(rows, [None, c.block_size_y, c.unroll])
        bx, tx, vec = sch.split(columns, [None, c.block_size_x, self.lanes])
        slice_ = c.block_size_x * self.lanes // (_PACKED[0] * _PACKED[1])
        steps = sch.split(k, [None, slice_, *_PACKED])
        sch.reorder(bx, by, tx, ty, *steps, mu, vec)
        for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"),
                           (tx, "threadIdx.x")):  # fmt: skip
            sch.bind(loop, axis)
        return ty, steps

    def _words_and_scales(self, unpack: BlockRV, steps: list[LoopRV]) -> None:
        sch = self.sch
        words = sch.cache_read(unpack, 0, "local")
        scales = sch.cache_read(unpack, 1, "local")
        sch.compute_at(scales, steps[1])
        sch.compute_at(words, steps[2])
        for copy in (words, scales):
            sch.vectorize(sch.get_loops(copy)[-1])
