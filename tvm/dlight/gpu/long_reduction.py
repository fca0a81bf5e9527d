"""Few long rows, of which as many blocks of threads would leave most of a machine idle.

B[i] = sum over k of A[i, k]
->
for j, i in blockIdx.x: P[j, i] = sum over part j of A[i, k]      # as `Reduction` does it
for i in blockIdx.x: B[i] = sum over j of P[j, i]                 # the same, a second launch
"""

from __future__ import annotations

from tvm.target.target import Target
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, Schedule

from .base import GPUScheduleRule
from .reduction import along_reduction, normalize, open_reduction

_FEW_ROWS = 32
_LONG = 1 << 15  # elements of a row that are worth a second launch
_PARTS = 256  # blocks of threads that share such a row


class LongReduction(GPUScheduleRule):
    """Schedules functions of one reduction of few long rows, and an injective epilogue."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        found = open_reduction(func) if self.is_target_available(target) else None
        if found is None:
            return None
        sch, info, epilogue = found
        walk = normalize(sch, info)
        if walk is None or not walk.along_reduction or walk.unrolled is not None:
            return None
        block = info.block_rv
        if not _few_long_rows(sch, block):
            return None
        along_reduction(sch, target, _parts_of_rows(sch, block), walk, None)
        along_reduction(sch, target, block, walk, epilogue)
        return sch


def _few_long_rows(sch: Schedule, block: BlockRV) -> bool:
    """Whether the rows are few and long; a length that is not known counts as such."""
    rows, reduced = (sch.get(loop).extent for loop in sch.get_loops(block)[:2])
    few = isinstance(rows, IntImm) and rows.value <= _FEW_ROWS
    return few and (not isinstance(reduced, IntImm) or reduced.value >= _LONG)


def _parts_of_rows(sch: Schedule, block: BlockRV) -> BlockRV:
    """A block in front of the given one: the results of equal parts of each row."""
    _, reduced, _ = sch.get_loops(block)
    part, _ = sch.split(reduced, factors=[_PARTS, None])
    partial = sch.rfactor(part, 0)
    row, part, *_ = sch.get_loops(partial)
    sch.fuse(row, part)
    return partial
