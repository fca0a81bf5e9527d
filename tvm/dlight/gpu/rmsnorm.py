"""Root mean square norms: a block of threads a row, which is read once and stays in registers.

    B[i, j] = A[i, j] * rsqrt(sum over k of A[i, k]^2 / n + eps) * w[j]
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import get_root_block
from tvm.dlight.base import ScheduleRule, open_schedule
from tvm.target.gpu_tuning import gpu_tuning
from tvm.target.target import Target
from tvm.tir.expr import BufferLoad, Cast, is_call_of
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.stmt import Block, BufferStore

_LANES = 8


def identify_cast_or_load_block(block: Block) -> bool:
    """True if the block copies or casts each element to its own index."""
    store = _only_store(block)
    if store is None:
        return False
    load = store.value.value if isinstance(store.value, Cast) else store.value
    if not isinstance(load, BufferLoad) or len(load.indices) != len(store.indices):
        return False
    return all(a is b for a, b in zip(load.indices, store.indices))


def identify_rsqrt_block(block: Block) -> bool:
    """True if the block stores reciprocals of square roots."""
    store = _only_store(block)
    return store is not None and is_call_of(store.value, "tir.rsqrt")


def _only_store(block: Block) -> BufferStore | None:
    if len(block.reads) != 1 or len(block.writes) != 1:
        return None
    return block.body if isinstance(block.body, BufferStore) else None


class RMSNorm(ScheduleRule):
    """Schedules functions that square, sum over the last axis, and scale by the root."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        if not isinstance(func, PrimFunc) or "gpu" not in target.keys:
            return None
        sch = open_schedule(func)
        try:
            root = get_root_block(sch)
        except ValueError:
            return None
        blocks = sch.get_child_blocks(root)
        if not any(identify_rsqrt_block(sch.get(block)) for block in blocks):
            return None
        try:
            return sch if _schedule(sch, root, blocks, gpu_tuning(target).norm_threads) else None
        except ScheduleError:
            return None


def _schedule(sch: Schedule, root: BlockRV, blocks: list[BlockRV], threads: int) -> bool:
    read = sch.cache_read(blocks[0], 0, "local")
    write = sch.cache_write(blocks[-1], 0, "local")
    for block in blocks:
        if identify_cast_or_load_block(sch.get(block)):
            sch.compute_inline(block)
    children = sch.get_child_blocks(root)
    if len(children) != 6 or not identify_rsqrt_block(sch.get(children[3])):
        return False
    square, total, rsqrt, norm = children[1:5]
    row, thread = _rows(sch, read, threads)
    sch.vectorize(sch.get_loops(read)[-1])
    sch.reverse_compute_at(square, thread)
    sch.reverse_compute_at(total, thread)
    sch.reverse_compute_at(rsqrt, row, index=-1)
    sch.reverse_compute_at(norm, row, index=-1)
    thread = _over_threads(sch, sch.fuse(*sch.get_loops(norm)[1:]), threads)
    sch.reverse_compute_at(write, thread, index=-1)
    sch.vectorize(sch.get_loops(write)[-1])
    for block, scope in ((square, "local"), (total, "local"), (rsqrt, "shared"), (norm, "local")):
        sch.set_scope(block, 0, scope)
    return True


def _rows(sch: Schedule, block: BlockRV, threads: int) -> tuple[LoopRV, LoopRV]:
    """Bind the rows to thread blocks and the elements of a row to threads."""
    *rows, elements = sch.get_loops(block)
    row = sch.fuse(*rows)
    sch.bind(row, "blockIdx.x")
    return row, _over_threads(sch, elements, threads)


def _over_threads(sch: Schedule, loop: LoopRV, threads: int) -> LoopRV:
    """Bind the loop to threads, each of which takes neighbours, `_LANES` at a time."""
    thread = sch.split(loop, factors=[threads, None, _LANES])[0]
    sch.bind(thread, "threadIdx.x")
    return thread
