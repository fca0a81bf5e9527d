"""A product of matrices in tiles: shared memory for a block of threads, registers for each.

    C[s, i, j] += A[s, i, k] * B[s, j, k]
    ->
    for blockIdx.y over s and j, blockIdx.x over i, threadIdx.y over j, threadIdx.x over i:
        for k_outer:
            A_shared, B_shared = slices of A and B                 # by all threads together
            for k_inner, i_inner: for j_inner: C_local += A_shared * B_shared
        C = C_local
"""

from __future__ import annotations

from tvm.target.gpu_tuning import ProductTiles
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

from .base import unroll_within
from .inline import auto_inline_consumer_chain, auto_inline_producers


def tile(sch: Schedule, block: BlockRV, config: ProductTiles) -> None:
    """Schedule the product, which runs over s, i, j, k, and the blocks around it."""
    c = config
    rows, columns = c.vthread_x * c.block_size_x * c.micro_size_x, _width(c)
    first, second = (columns, rows) if c.inner_x else (rows, columns)
    sch.pad_einsum(block, [1, first, second, c.micro_size_k])
    step, thread = _bind(sch, block, c)
    result = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(result, thread, preserve_unit_loops=True)
    size = c.micro_size_x if c.inner_x else c.micro_size_y
    _vectorize(sch, sch.get_loops(result)[-1], size, c.vector_size)
    if c.use_shared:
        copies = [_through_shared(sch, block, operand, step, c) for operand in (0, 1)]
        for copy in copies:
            auto_inline_producers(sch, copy)
    else:
        auto_inline_producers(sch, block)
    auto_inline_consumer_chain(sch, result)
    sch.decompose_reduction(block, step)


def _width(c: ProductTiles) -> int:
    return c.vthread_y * c.block_size_y * c.micro_size_y


def _bind(sch: Schedule, block: BlockRV, c: ProductTiles) -> tuple[LoopRV, LoopRV]:
    """Split and bind the loops; returns that over slices of the sum, and the innermost thread."""
    batch, first, second, k = sch.get_loops(block)
    x, y = (second, first) if c.inner_x else (first, second)
    by, vy, ty, yi = sch.split(y, [None, c.vthread_y, c.block_size_y, c.micro_size_y])
    bx, vx, tx, xi = sch.split(x, [None, c.vthread_x, c.block_size_x, c.micro_size_x])
    ko, ki = sch.split(k, factors=[None, c.micro_size_k])
    inner, size = (xi, c.micro_size_x) if c.inner_x else (yi, c.micro_size_y)
    sch.reorder(by, bx, vy, vx, ty, tx, ko, ki, yi if c.inner_x else xi, inner)
    by = sch.fuse(batch, by)
    for loop, axis in (
        (bx, "blockIdx.x"), (by, "blockIdx.y"), (vy, "vthread.y"), (vx, "vthread.x"),
        (ty, "threadIdx.y"), (tx, "threadIdx.x"),
    ):  # fmt: skip
        sch.bind(loop, axis)
    _vectorize(sch, inner, size, c.vector_size)
    if c.unroll > 0:
        unroll_within(sch, tx, c.unroll)
    return ko, tx


def _vectorize(sch: Schedule, loop: LoopRV, extent: int, lanes: int) -> None:
    if extent % lanes == 0:
        sch.vectorize(sch.split(loop, [None, lanes])[1])


def _through_shared(
    sch: Schedule, block: BlockRV, operand: int, step: LoopRV, c: ProductTiles
) -> BlockRV:
    """Let all threads of a block load a slice of an input together."""
    copy = sch.cache_read(block, operand, "shared")
    count = len(sch.get_loops(copy))
    sch.compute_at(copy, step, preserve_unit_loops=True)
    fused = sch.fuse(*sch.get_loops(copy)[-count:])
    ty, tx, _, vec = sch.split(fused, [c.block_size_y, c.block_size_x, None, c.vector_size])
    sch.vectorize(vec)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    if c.storage_align:
        # rows of odd length in words: threads that read a column meet different banks
        sch.storage_align(copy, 0, axis=1, factor=8, offset=c.vector_size)
    return copy
