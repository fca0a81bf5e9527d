"""Transposes go through shared memory, so that reads and writes both move along memory.

    T[j, i] = A[i, j]    ->    a tile of A to shared memory, row by row; from there to T, row by row

Rows of the tile are padded by one element: a column then lies in different banks.
"""

from __future__ import annotations

from tvm.dlight.analysis.access import dominant_access, split_terms
from tvm.dlight.analysis.common_analysis import BlockInfo, normalize_prim_func
from tvm.dlight.base import open_schedule, try_inline_contiguous_spatial
from tvm.target.gpu_tuning import gpu_tuning
from tvm.target.target import Target
from tvm.tir.expr import BufferLoad
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.stmt import Block, BufferStore

from .base import GPUScheduleRule, unroll_within

_LANES = 4


class Transpose(GPUScheduleRule):
    """Schedules functions that end in a transpose of a matrix."""

    def is_transpose(self, sch: Schedule, block_rv: BlockRV) -> bool:
        """True if the block copies with the same indices in another order."""
        block: Block = sch.get(block_rv)
        store = block.body
        if not isinstance(store, BufferStore) or not isinstance(store.value, BufferLoad):
            return False
        to, back = store.indices, store.value.indices
        return tuple(to) != tuple(back) and set(to) == set(back)

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is a transpose of a matrix."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        infos = normalize_prim_func(sch)
        found = None if infos is None else self._split_at_transpose(sch, infos)
        if found is None:
            return None
        before, block = found
        if len(sch.get_loops(block)) != 2:
            return None
        prologue: BlockRV | None = None
        if before:
            if try_inline_contiguous_spatial(sch, before[:-1]):
                return None  # what stays in front would need threads of its own
            prologue = before[-1].block_rv
        self._schedule(sch, target, block, 1 if prologue is None else _packed(sch, prologue))
        if prologue is not None:
            sch.compute_inline(prologue)
        return sch

    def _split_at_transpose(
        self, sch: Schedule, infos: list[BlockInfo]
    ) -> tuple[list[BlockInfo], BlockRV] | None:
        """The blocks before the last transpose, and it; all must be injective."""
        if not all(info.is_injective() for info in infos):
            return None
        positions = [i for i, info in enumerate(infos) if self.is_transpose(sch, info.block_rv)]
        if not positions or positions[-1] != len(infos) - 1:
            return None
        return infos[:-1], infos[-1].block_rv

    def _schedule(self, sch: Schedule, target: Target, block: BlockRV, packed: int) -> None:
        width, height, steps = gpu_tuning(target).transpose
        row, column = sch.get_loops(block)
        row, values = sch.split(row, factors=[None, packed])
        by, ty = sch.split(row, factors=[None, height])
        bx, tx = sch.split(column, factors=[None, width])
        sch.reorder(by, bx, ty, tx, values)
        for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"),
                           (tx, "threadIdx.x")):  # fmt: skip
            sch.bind(loop, axis)
        lanes = min(_LANES, packed)
        _, vector = sch.split(values, factors=[None, lanes])
        if lanes > 1:
            sch.vectorize(vector)
        self._through_shared(sch, block, bx, (height, width, packed))
        unroll_within(sch, by, steps)

    def _through_shared(
        self, sch: Schedule, block: BlockRV, at: LoopRV, sizes: tuple[int, int, int]
    ) -> None:
        copy = sch.cache_read(block, 0, "shared")
        sch.compute_at(copy, at)
        _, ty, tx, values = sch.split(
            sch.fuse(*sch.get_loops(copy)[2:]), factors=[None, *sizes]
        )
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.unroll(values)
        sch.storage_align(copy, 0, axis=0, factor=32, offset=1)


def _packed(sch: Schedule, prologue: BlockRV) -> int:
    """How many neighbours the prologue takes out of one stored word, as 8 of W[i // 8, j]."""
    access = dominant_access(sch.get(prologue))
    terms = [] if access is None else split_terms(access)
    return terms[0][1] if terms else 1
