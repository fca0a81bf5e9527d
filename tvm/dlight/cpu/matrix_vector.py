"""Matrix times vector: each element of the matrix is used once, so memory decides.

Matrix rows along the sum:                 one row at a time, vectors of partial sums
    C[j] = sum over k of W[j, k] * x[k]    (see `reduction`)
Matrix rows along the result:              eight rows a pass, the result stays in the L1 cache
    C[j] = sum over k of W[k, j] * x[k]
        for ko in K / 8: for jo: C[jo, :] += W[ko * 8 + 0, jo, :] * x[ko * 8 + 0] + ...
"""

from __future__ import annotations

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import open_schedule
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block

from .base import CPUScheduleRule, Decompositions, root_blocks, with_reason
from .contraction import extent_of
from .cost import bytes_us, threads_for
from .general import Unscheduled, inline_epilogues
from .reduction import nest_of, schedule_reduction

ROWS = 8  # measured 16 KB rows apart: 8 rows 1.9 ms, 4 rows 1.95, 1 row 2.7, columns first 3.9
WIDE = 4


class MatrixVector(CPUScheduleRule):
    """Schedules functions with one matrix-vector product and elementwise blocks around it."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is a matrix-vector product."""
        sch = open_schedule(func)
        mains = [b for b in root_blocks(sch) if is_gemv(find_contraction(sch.get(b)))]
        if len(mains) != 1:
            return None
        inline_epilogues(sch)
        unscheduled = Unscheduled(sch)
        reason = _schedule(sch, mains[0], target.cpu, unscheduled.pending)
        unscheduled.done(mains[0])
        unscheduled.schedule(target.cpu)
        return with_reason(sch, reason)


def is_gemv(found: Contraction | None) -> bool:
    """A contraction of a matrix with a vector: one of rows and columns is a single one."""
    if found is None or not found.lhs.is_plain() or not found.rhs.is_plain():
        return False
    sizes = (extent_of(found.m), extent_of(found.n))
    return (sizes[0] == 1) != (sizes[1] == 1)


def _schedule(sch: Schedule, block: BlockRV, cpu: CpuModel, pending: Decompositions) -> str:
    """Schedule the product; returns a sentence of reason."""
    found = find_contraction(sch.get(block))
    if found is not None and _rows_along_result(sch.get(block), found, cpu):
        return _by_rows(sch, block, cpu, pending)
    return schedule_reduction(sch, block, cpu, pending)


def _rows_along_result(block: Block, found: Contraction, cpu: CpuModel) -> bool:
    """True if the matrix moves along memory with the result, and the L2 cache does not hold it."""
    side = found.n if extent_of(found.m) == 1 else found.m
    matrix = found.rhs if extent_of(found.m) == 1 else found.lhs
    columns, steps = extent_of(side), extent_of(found.k)
    if len(side) != 1 or len(found.k) != 1 or found.batch or columns is None or steps is None:
        return False
    lanes = cpu.lanes(found.output.dtype.bits)
    whole = columns % lanes == 0 and steps % ROWS == 0
    large = columns * steps * matrix.buffer.dtype.itemsize > cpu.l2_bytes
    return whole and large and matrix.innermost() is side[0].var


def _by_rows(
    sch: Schedule, block: BlockRV, cpu: CpuModel, pending: Decompositions
) -> str:
    nest = nest_of(sch, block)
    assert nest is not None, "a contraction with one loop a variable"
    (column, loop), (step, sum_loop) = nest.spatial[-1], nest.reducing[-1]
    columns, steps = extent_of([column]), extent_of([step])
    assert columns is not None, "checked before"
    assert steps is not None, "checked before"
    dtype = nest.node.writes[0].buffer.dtype
    lanes = cpu.lanes(dtype.bits)
    threads = threads_for(cpu, bytes_us(columns * steps * dtype.itemsize))
    while columns % (threads * lanes):
        threads -= 1
    part = columns // threads
    width = max(lanes * count for count in range(1, WIDE + 1) if part % (lanes * count) == 0)
    outer, middle, vectors, inner = sch.split(loop, factors=[threads, None, width // lanes, lanes])
    ko, ki = sch.split(sum_loop, factors=[None, ROWS])
    units = [unit for _, unit in nest.spatial[:-1]]
    sch.reorder(*units, outer, ko, middle, ki, vectors, inner)
    sch.vectorize(inner)
    sch.unroll(vectors)
    sch.unroll(ki)
    if threads > 1:
        sch.parallel(outer)
    pending.append((block, ko))
    spread = f"{threads} threads" if threads > 1 else "serial"
    return f"{ROWS} rows of the matrix a pass, the result in the L1 cache, {spread}"
