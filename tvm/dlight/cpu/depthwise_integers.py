"""Convolutions of integers of which each channel is its own, channels last.

    for jo in C / (V * L), n, y, xo in X / MR:
        acc[MR, V, L] = 0                                        # 32-bit sums in vector registers
        for ky, kx:
            acc[i, v, :] += A[n, y * s + ky, (xo * MR + i) * s + kx, channels] * W[ky, kx, channels]
        B[n, y, xo * MR + i, channels] = epilogue(acc[i, v, :])

Vectors are channels side by side, widened when they are read. `W` is laid out while compiling. Past
the end of rows of an open size the last pixel is computed again.
"""

from __future__ import annotations

from typing import Final

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import open_schedule, pad_operands
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.expr import Add, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block

from .base import CPUScheduleRule, root_blocks, with_reason
from .contraction import extent_of, may_be_short, vectorize_back, write_back
from .cost import SYMBOLIC, flops_us, parallelize_by_cost
from .dots_direct import loops_of
from .edges import read_last_row_again
from .general import Unscheduled, inline_epilogues
from .weights import free_buffers, pack_before

MAX_PIXELS: Final = 4
MAX_VECTORS: Final = 4
MIN_LANES: Final = 4


class DepthwiseIntegers(CPUScheduleRule):
    """Schedules functions with such a convolution and elementwise blocks around it."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if there is no such block, or more than one."""
        sch = open_schedule(func)
        mains = [b for b in root_blocks(sch) if _found(sch, b) is not None]
        if len(mains) != 1:
            return None
        inline_epilogues(sch)
        found = _found(sch, mains[0])
        if found is None:
            return None
        unscheduled = Unscheduled(sch)
        reason, taps = _schedule(sch, mains[0], found, target.cpu)
        unscheduled.done(mains[0])
        unscheduled.schedule(target.cpu)
        init = sch.decompose_reduction(mains[0], taps)
        pixels, vectors, lanes = sch.get_loops(init)[-3:]
        sch.vectorize(lanes)
        sch.unroll(vectors)
        sch.unroll(pixels)
        return with_reason(sch, reason)


def _found(sch: Schedule, block: BlockRV) -> Contraction | None:
    """The convolution that a block is, each variable bound to a loop of its own."""
    found = find_contraction(sch.get(block))
    if found is None or len(found.batch) != 1 or found.n or not found.rhs.is_plain():
        return None
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    if not all(isinstance(value, Var) for value in values):
        return None
    operands = (found.lhs.buffer, found.rhs.buffer)
    small = all(o.dtype.is_integer and o.dtype.bits <= 16 for o in operands)
    if str(found.output.dtype) != "int32" or not small or found.rhs.buffer not in free_buffers(sch):
        return None
    channel = found.batch[0]
    if not _moves_along(found, channel.var) or found.store[-1] is not channel.var:
        return None
    sizes = [extent_of([iv]) for iv in (channel, *found.k)]
    if _row(found) is None or None in sizes or (sizes[0] or 0) % MIN_LANES:
        return None
    return found


def _moves_along(found: Contraction, channel: Var) -> bool:
    """Whether the channel is where images are read, perhaps plus the only channel of its group."""
    single = {iv.var for iv in found.k if extent_of([iv]) == 1}
    last = found.lhs.indices[-1]
    return last is channel or (
        isinstance(last, Add) and last.a is channel and isinstance(last.b, Var) and last.b in single
    )


def _row(found: Contraction) -> IterVar | None:
    """The variable along a row of the result."""
    return next((iv for iv in found.m if iv.var is found.store[-2]), None)


def _most(most: int, size: int) -> int:
    """The largest divisor that is no larger than `most`."""
    return next(count for count in range(most, 0, -1) if size % count == 0)


def _schedule(
    sch: Schedule, block: BlockRV, found: Contraction, cpu: CpuModel
) -> tuple[str, LoopRV]:
    """Tile the convolution; returns the reason, and the loop at which sums begin."""
    row, channel = _row(found), found.batch[0]
    channels = extent_of([channel])
    assert row is not None, "looked at before"
    assert channels is not None, "and so are channels"
    lanes = cpu.lanes(32)
    while channels % lanes:
        lanes //= 2
    vectors = _most(MAX_VECTORS, channels // lanes)
    pixels = _most(MAX_PIXELS, extent_of([row]) or MAX_PIXELS)
    if extent_of([row]) is None:
        _whole_tiles(sch, block, found, row, pixels)
        found = find_contraction(sch.get(block)) or found
        row, channel = _row(found), found.batch[0]
        assert row is not None, "it is where it was"
    loops = loops_of(sch, block)
    taps = [loops[iv.var] for iv in found.k]
    images = [loops[index] for index in found.store[:-2] if isinstance(index, Var)]
    _pack(sch, block, found, channel.var)
    back = write_back(sch, block)
    xo, xi = sch.split(loops[row.var], factors=[None, pixels])
    jo, jv, ji = sch.split(loops[channel.var], factors=[None, vectors, lanes])
    sch.reorder(jo, *images, xo, *taps, xi, jv, ji)
    sch.reverse_compute_at(back, xo)
    vectorize_back(sch, back, xo, lanes)
    if extent_of([row]) is None:
        may_be_short(sch, back, xo, xi, pixels)
    sch.vectorize(ji)
    for loop in (*taps, jv, xi):
        sch.unroll(loop)
    work = 2.0
    for iv in (*found.batch, *found.m, *found.k):
        work *= extent_of([iv]) or SYMBOLIC
    spread = parallelize_by_cost(sch, [jo, *images], cpu, flops_us(cpu, work, 32), sch.get(block))
    reason = (
        f"{pixels} pixels of {vectors} x {lanes} channels at once, 32-bit sums in registers, "
        + ("serial, too little work for threads" if spread == "serial" else spread)
    )
    return reason, taps[0]


def _whole_tiles(
    sch: Schedule, block: BlockRV, found: Contraction, row: IterVar, pixels: int
) -> None:
    """Let rows of an open size end with a whole tile."""
    gather = sch.reindex(block, found.lhs.buffer)
    pads = [pixels if iv.var is row.var else 1 for iv in sch.get(block).iter_vars]
    copies = pad_operands(sch, block, pads)
    made = {sch.get(copy).writes[0].buffer for copy in copies}
    for buffer in made:
        copies = read_last_row_again(sch, copies, buffer)
    sch.compute_inline(gather)


def _pack(sch: Schedule, block: BlockRV, found: Contraction, channel: Var) -> None:
    """Let the channels of a tap's weights lie side by side."""
    panel = sch.cache_read(block, found.rhs.read_index, "global")
    axis = next(i for i, index in enumerate(found.rhs.indices) if index is channel)

    def by_taps(*at: PrimExpr) -> list[PrimExpr]:
        return [*(index for i, index in enumerate(at) if i != axis), at[axis]]

    sch.transform_layout(panel, ("write", 0), by_taps)
    node: Block = sch.get(panel)
    if len(node.iter_vars) == len(node.writes[0].buffer.shape):
        sch.transform_block_layout(panel, by_taps)
    pack_before(sch, panel)
