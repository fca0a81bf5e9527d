"""The tiles that TVM's own rule gives a product of a matrix and a vector.

Scripts know this rule by its result. The default pipeline takes `MatrixVector`, which keeps
partial sums in registers.
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import BlockInfo
from tvm.dlight.analysis.gemv import is_gemv, normalize
from tvm.dlight.base import get_extent, main_and_epilogue, open_schedule
from tvm.target.target import Target
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, Schedule

from .base import CPUScheduleRule

_UNROLL = 256
_LANES = 8


class GEMV(CPUScheduleRule):
    """Schedules functions of one matrix-vector product (batched or not) and an epilogue."""

    def is_target_available(self, target: Target) -> bool:
        """True for code that LLVM makes for a CPU."""
        return super().is_target_available(target) and target.kind.traits.machine_code

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the sum does not move along the matrix's memory."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        found = main_and_epilogue(sch)
        if found is None or len(found[0].iters) not in (2, 3):
            return None
        info, epilogue = found
        vectors = is_gemv(sch, info)
        if vectors is None or not normalize(sch, info):
            return None
        return self.sch_inner_reduction(sch, target, info.block_rv, vectors, epilogue)

    def sch_inner_reduction(
        self,
        sch: Schedule,
        target: Target,
        block: BlockRV,
        vector_input_buffers: list[Buffer],
        epilogue_info: BlockInfo | None,
    ) -> Schedule:
        """Tile the loops batch, s, r, c of the product; what follows it stays as it is."""
        batch, rows, steps, packed = sch.get_loops(block)
        tile_s, tile_r = _tiles(*(get_extent(sch, x) for x in (batch, rows, steps, packed)))
        lanes = get_extent(sch, packed)
        rows_outer, rows_inner = sch.split(rows, factors=[None, tile_s])
        steps_outer, _ = sch.split(steps, factors=[None, tile_r])
        sch.split(packed, factors=[None, min(_LANES, lanes) if isinstance(lanes, int) else _LANES])
        sch.vectorize(rows_inner)
        sch.parallel(rows_outer)
        sch.annotate(steps_outer, "pragma_auto_unroll_max_step", _UNROLL)
        sch.annotate(steps_outer, "pragma_unroll_explicit", 1)
        return sch


def _tiles(batch: object, rows: object, steps: object, packed: object) -> tuple[int, int]:
    """How much of the rows and of the sum is one tile: more of whichever is longer."""
    if not (
        isinstance(batch, int)
        and isinstance(rows, int)
        and isinstance(steps, int)
        and isinstance(packed, int)
    ):
        return 64, 64
    return (128, 64) if batch * rows > steps * packed else (64, 128)
