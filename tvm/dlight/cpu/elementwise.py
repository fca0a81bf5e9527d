"""Blocks whose variables are all spatial: fused loops, vectors, threads for large ones."""

from __future__ import annotations

import math

from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import IntImm, IterVar, Var, is_call_of
from tvm.tir.functor import walk
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferStore, For

from .access import (
    access_strides,
    accesses,
    collapses,
    extent,
    flops,
    is_vectorizable,
    used_as_values,
    volume,
)
from .cost import ROW, bytes_us, flops_us, parallelize_by_cost
from .pieces import schedule_pieces
from .reduction import keep_whole
from .transpose import schedule_squares, square_of

GATHERING = 8  # lanes of 32 bits from which on processors have instructions that gather
ROUNDS = 16  # of a parallel loop for each core, so that none waits long for the last
WIDE = 4  # vectors a step of the innermost loop, to pay its overhead once


def schedule_elementwise(sch: Schedule, block: BlockRV, cpu: CpuModel) -> str:
    """Fuse what runs through memory as one, vectorize it, and spread large work over threads."""
    node: Block = sch.get(block)
    loops = sch.get_loops(block)
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    by_loop = {v: iv for v, iv in zip(values, node.iter_vars) if isinstance(v, Var)}
    names = [sch.get(loop).loop_var for loop in loops]
    if not loops or any(name not in by_loop for name in names):
        return f"{node.name_hint}: {'one value' if not loops else 'loops kept as they are'}"
    square = square_of(node, cpu)
    if square is not None:
        return _turned(sch, block, cpu, {by_loop[n].var: l for n, l in zip(names, loops)}, square)
    bits = node.writes[0].buffer.dtype.bits if node.writes else 32
    each = _work(cpu, node, bits) / volume(node)
    gathers = _gathers(node, by_loop[names[-1]], cpu)
    pieces = schedule_pieces(sch, block, cpu, each, gathers=gathers)
    if pieces is not None:
        return pieces
    strides = access_strides(node)
    valued = used_as_values(node)
    run = [loops[-1]]
    for i in range(len(loops) - 2, -1, -1):
        if by_loop[names[i]].var in valued or by_loop[names[i + 1]].var in valued:
            break
        if not collapses(strides, by_loop[names[i]], by_loop[names[i + 1]]):
            break
        if extent(by_loop[names[i]]) is None and _enough([by_loop[n] for n in names[i + 1 :]]):
            break  # the threads get whole rows, and no index has to be divided by a symbol
        run.insert(0, loops[i])
    outer = loops[: len(loops) - len(run)]
    vectorizable = is_vectorizable(strides, by_loop[names[-1]].var)
    inner = sch.fuse(*run) if len(run) > 1 else run[0]
    words = "lane by lane"
    if vectorizable:
        vectors, words = _vectorize(sch, inner, cpu.lanes(bits), _branches(node))
    elif gathers:
        *vectors, vector = sch.split(inner, factors=[None, cpu.lanes(bits)])
        sch.vectorize(vector)
        words = f"{cpu.lanes(bits)} lanes gathered"
    else:
        vectors = [inner]
    if not _many([by_loop[n] for n in names[: len(outer)]], cpu):
        outer = [*outer, *vectors]  # else rows are whole, and nothing is divided within one
    spread = "serial"
    if outer:
        spread = parallelize_by_cost(sch, outer, cpu, _work(cpu, node, bits), node)
    return f"{node.name_hint}: {words}, {spread}"


def _gathers(node: Block, last: IterVar, cpu: CpuModel) -> bool:
    """True if whole vectors are stored whose lanes come from addresses of their own.

    Taking them together is worth it where processors have an instruction for that; the indices of
    a vector are computed together in any case.
    """
    size = extent(last)
    if cpu.lanes(32) < GATHERING or (size is not None and size < cpu.lanes(32)):
        return False
    for access, moves in accesses(node):
        if access.buffer.dtype.bits not in (32, 64) or not access.buffer.dtype.is_scalar:
            return False
        if isinstance(access, BufferStore) and moves[last.var] != 1:
            return False
    return isinstance(node.body, BufferStore)


def _enough(run: list[IterVar]) -> bool:
    """The run is of a known length, and several vectors long."""
    sizes = [extent(iv) for iv in run]
    return all(size is not None for size in sizes) and math.prod(size or 1 for size in sizes) >= ROW


def _many(rows: list[IterVar], cpu: CpuModel) -> bool:
    """Whether there are enough rows for threads to share them evenly."""
    sizes = [extent(iv) for iv in rows]
    return all(size is not None for size in sizes) and math.prod(
        size or 1 for size in sizes
    ) >= ROUNDS * cpu.cores


def _turned(
    sch: Schedule,
    block: BlockRV,
    cpu: CpuModel,
    loops: dict[Var, LoopRV],
    square: tuple[int, Var, Var],
) -> str:
    node: Block = sch.get(block)
    outer = schedule_squares(sch, block, loops, square)
    work = _work(cpu, node, node.writes[0].buffer.dtype.bits)
    spread = parallelize_by_cost(sch, outer, cpu, work, node)
    return f"{node.name_hint}: squares of {square[0]} turned in registers, {spread}"


def _work(cpu: CpuModel, node: Block, bits: int) -> float:
    runs = volume(node)
    moved = (len(node.reads) + len(node.writes)) * bits / 8
    return max(flops_us(cpu, runs * flops(node), bits), bytes_us(runs * moved))


def _branches(node: Block) -> bool:
    """Whether values come from one of two blocks of code."""
    return any(is_call_of(part, "tir.if_then_else") for part in walk(node.body))


def _vectorize(
    sch: Schedule, inner: LoopRV, lanes: int, branches: bool
) -> tuple[list[LoopRV], str]:
    """Vectorize the innermost loop; returns the one around vectors, and words for the reason."""
    loop: For = sch.get(inner)
    known = loop.extent.value if isinstance(loop.extent, IntImm) else None
    width = vector_width(known, lanes)
    if branches and known is not None and width & (width - 1):
        power = known & -known  # of two; LLVM passes other vectors on value by value
        width = power if lanes // 4 <= power else width
    if isinstance(loop.extent, IntImm) and loop.extent.value == width:
        sch.vectorize(inner)
        return [], f"one vector of {width}"
    vectors, vector = sch.split(inner, factors=[None, width])
    sch.vectorize(vector)
    if not isinstance(loop.extent, IntImm) or loop.extent.value % width:
        keep_whole(sch, vectors)
    return [vectors], f"vectors of {width}"


def vector_width(extent: int | None, lanes: int) -> int:
    """Lanes of one step: several registers where they divide the extent, else what wastes least."""
    if extent is None:
        return lanes
    if extent <= WIDE * lanes:
        return extent
    for wide in (WIDE, 2, 1):
        if extent % (wide * lanes) == 0:
            return wide * lanes
    best = lanes
    cost = -(-extent // lanes) * 1.0 + 1
    for width in range(2, WIDE * lanes + 1):
        if extent % width == 0:
            vectors = extent // width * -(-width // lanes)
            if vectors < cost:
                best, cost = width, vectors
    return best
