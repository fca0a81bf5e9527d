"""Matrix products, also batched, transposed, with fused epilogues: packed panels, register tiles.

    for jo in N / NR:                        # parallel where it is worth it
        for k, j in K, NR: P[k, j] = B[k, jo * NR + j]           # panel of B, in the L2 cache
        for io in M / MR:
            acc[MR, NR] = 0                                      # vector registers
            for k in K: acc[i, :] += A[io * MR + i, k] * P[k, :]
            C[io * MR + i, jo * NR + j] = epilogue(acc[i, j])

The form follows Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM
TOMS 34, 2008); k is not split and A not packed, as measured best up to a few thousand.
"""

from __future__ import annotations

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import open_schedule
from tvm.target.target import Target
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.op.arith import is_one
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.query import realize_of

from .base import CPUScheduleRule, root_blocks, with_reason
from .contraction import MatrixForm, extent_of, schedule_contraction
from .general import Unscheduled, inline_epilogues
from .remainders import without_whole_remainders
from .weights import free_buffers


class GEMM(CPUScheduleRule):
    """Schedules functions with a matrix product."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is a matrix product worth a tile."""
        sch = open_schedule(func)
        if not any(_product(sch, block) for block in root_blocks(sch)):
            return None
        inline_epilogues(sch)
        unscheduled = Unscheduled(sch)
        reasons: list[str] = []
        for block in root_blocks(sch):
            contraction = _product(sch, block)
            if contraction is not None:
                form = matrix_form(contraction)
                reasons.append(
                    schedule_contraction(
                        sch, block, contraction, form, target.cpu, unscheduled.pending
                    )
                )
                unscheduled.done(block)
        unscheduled.schedule(target.cpu)
        return with_reason(without_whole_remainders(sch), "; ".join(reasons))


def _product(sch: Schedule, block: BlockRV) -> Contraction | None:
    """The matrix product that a block is, each of its variables bound to a loop of its own."""
    found = find_contraction(sch.get(block))
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    fits = is_gemm(found) or streams_panels(sch, found)
    return found if fits and all(isinstance(v, Var) for v in values) else None


def is_gemm(found: Contraction | None) -> bool:
    """A product with both a row and a column side, each operand indexed by plain variables."""
    if found is None or not found.lhs.is_plain() or not found.rhs.is_plain():
        return False
    return extent_of(found.m) != 1 and extent_of(found.n) != 1


def streams_panels(sch: Schedule, found: Contraction | None) -> bool:
    """One row times a matrix that may be packed: then panels are read from end to end."""
    if found is None or not found.lhs.is_plain() or not found.rhs.is_plain():
        return False
    one_row = extent_of(found.m) == 1 and extent_of(found.n) != 1
    return one_row and bool(matrix_form(found).m) and found.rhs.buffer in free_buffers(sch)


def matrix_form(found: Contraction) -> MatrixForm:
    """The roles as they are, with two exceptions.

    A single row may come from the variables of a batch. Columns of several variables are loops but
    for the last where its extent is unknown: the place of each lane would be divided by it.
    """
    batch, m, n = found.batch, found.m, found.n
    if not m and batch and is_one(batch[-1].dom.extent):  # type: ignore[union-attr]
        batch, m = batch[:-1], batch[-1:]
    if extent_of(n[1:]) is None:
        batch, n = (*batch, *n[:-1]), n[-1:]
    return MatrixForm(batch, m, n, found.k)
