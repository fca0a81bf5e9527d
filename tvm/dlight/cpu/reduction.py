"""Sums, maxima and the like: accumulators are vectors, and independent of each other.

Along memory:                              for i: acc[V] = 0
    for i, k: B[i] += A[i, k]      ->          for ko: acc[:] += A[i, ko * V :]
                                               B[i] = acc[0] + acc[1] + ...       # as a tree
Across memory:                             for jo: acc[V] = 0
    for j, k: B[j] += A[k, j]      ->          for k: acc[:] += A[k, jo * V :]
                                               B[jo * V :] = acc[:]
Where rows are long, one vector of each would be a jump in memory: some rows are added at a time to
sums of a whole row, which stay in the first cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.functor import walk
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.inside import index_outside
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block

from .access import (
    Strides,
    access_strides,
    accesses,
    collapses,
    extent,
    flops,
    is_vectorizable,
    volume,
)
from .base import Decompositions
from .cost import SYMBOLIC, bytes_us, flops_us, parallelize_by_cost
from .tiles import round_up

SHORT = 16  # reductions of at most so many steps stay one chain of scalars
TREE = 4  # branches a level where a vector is reduced to a scalar
CHAINS = 4  # vectors of accumulators, which hide the latency of additions
UNROLL = 16
LONG_ROW = 8  # vectors of a row from which on sums of whole rows are kept
ROWS = 8  # that are added at a time; twice as many are enough to pay for the sums' memory
PARTITION = "pragma_loop_partition_hint"


@dataclass
class Nest:
    """A reduction block with its loops by variable."""

    block: BlockRV
    node: Block
    spatial: list[tuple[IterVar, LoopRV]] = field(default_factory=list)
    reducing: list[tuple[IterVar, LoopRV]] = field(default_factory=list)
    strides: list[Strides] = field(default_factory=list)


def nest_of(sch: Schedule, block: BlockRV) -> Nest | None:
    """The block's variables with their loops; None unless each has one of its own."""
    node: Block = sch.get(block)
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    loops = {sch.get(loop).loop_var: loop for loop in sch.get_loops(block)}
    found = Nest(block, node, strides=access_strides(node))
    for iv, value in zip(node.iter_vars, values):
        loop = loops.pop(value, None) if isinstance(value, Var) else None
        if loop is None:
            if extent(iv) == 1:
                continue
            return None
        (found.reducing if iv.iter_type == IterVar.CommReduce else found.spatial).append((iv, loop))
    return None if loops or not found.reducing else found


def schedule_reduction(
    sch: Schedule, block: BlockRV, cpu: CpuModel, pending: Decompositions
) -> str:
    """Schedule a reduction in loops of its own; returns a sentence of reason."""
    nest = nest_of(sch, block)
    name = sch.get(block).name_hint
    if nest is None:
        return f"{name}: loops kept as they are"
    bits = nest.node.writes[0].buffer.dtype.bits
    if across_memory(nest):
        spread = _across(sch, nest, cpu, pending)
        words = "vectors across the result"
    elif along_memory(nest, cpu.lanes(bits)):
        spread = _along(sch, nest, cpu, pending)
        words = "vectors along the reduction, then a tree"
    else:
        spread = _plain(sch, nest, cpu, pending)
        words = "scalar chains"
    return f"{name}: {words}, {spread}"


def across_memory(nest: Nest) -> bool:
    """True if the last spatial variable moves along memory in the result and in what is read."""
    if not nest.spatial or extent(nest.spatial[-1][0]) == 1:
        return False
    last = nest.spatial[-1][0].var
    if not is_vectorizable(nest.strides, last):
        return False
    own = {w.buffer for w in nest.node.writes}
    return any(
        moves[last] == 1 for access, moves in accesses(nest.node) if access.buffer not in own
    )


def along_memory(nest: Nest, lanes: int) -> bool:
    """True if the reduction moves along memory and is long enough for vectors."""
    last = nest.reducing[-1][0]
    size = reduction_size(nest)
    if size is not None and size <= SHORT:
        return False
    if not is_vectorizable(nest.strides, last.var):
        return False
    inner = extent(last)
    return inner is None or inner >= lanes or _collapsible(nest) > 1


def reduction_size(nest: Nest) -> int | None:
    """Steps of the reduction; None if symbolic."""
    total = 1
    for iv, _ in nest.reducing:
        size = extent(iv)
        if size is None:
            return None
        total *= size
    return total


def _collapsible(nest: Nest) -> int:
    """How many of the innermost reducing loops run through memory as one."""
    count = 1
    pairs = nest.reducing
    while count < len(pairs) and collapses(nest.strides, pairs[-count - 1][0], pairs[-count][0]):
        count += 1
    return count


def _parallelize_by_cost(sch: Schedule, nest: Nest, loops: list[LoopRV], cpu: CpuModel) -> str:
    runs = volume(nest.node)
    bits = nest.node.writes[0].buffer.dtype.bits
    work = max(flops_us(cpu, runs * flops(nest.node), bits), bytes_us(runs * bits / 8))
    return parallelize_by_cost(sch, loops, cpu, work, nest.node) if loops else "serial"


def _across(sch: Schedule, nest: Nest, cpu: CpuModel, pending: Decompositions) -> str:
    strips = _strips(nest, cpu)
    if strips is not None:
        return _row_by_row(sch, nest, strips, cpu, pending)
    lanes = cpu.lanes(nest.node.writes[0].buffer.dtype.bits)
    spatial = [loop for _, loop in nest.spatial]
    reducing = [loop for _, loop in nest.reducing]
    back = write_back(sch, nest.block)
    outer, vectors, inner = sch.split(spatial[-1], factors=_columns(nest, lanes))
    sch.reorder(*spatial[:-1], outer, *reducing, vectors, inner)
    sch.reverse_compute_at(back, outer)
    sch.vectorize(inner)
    sch.unroll(vectors)
    below = sch.get_loops(back)[len(spatial) :]
    if below:
        width = sch.get(inner).extent.value
        chunks, copied = sch.split(below[-1], factors=[None, width])
        sch.vectorize(copied)
        sch.unroll(chunks)
    _unroll_short(sch, reducing[-1])
    pending.append((nest.block, reducing[0]))
    return _parallelize_by_cost(sch, nest, [*spatial[:-1], outer], cpu)


class Strips(NamedTuple):
    """How rows are added up: so many at a time, to sums of so many columns, by wide steps."""

    rows: int
    columns: int
    step: int


def _strips(nest: Nest, cpu: CpuModel) -> Strips | None:
    """For long rows of known length, and enough of them; else None."""
    bits = nest.node.writes[0].buffer.dtype.bits
    lanes, size_of_one = cpu.lanes(bits), max(bits // 8, 1)
    size, count = extent(nest.spatial[-1][0]), extent(nest.reducing[-1][0])
    if size is None or count is None or len(nest.node.writes) > 1:
        return None
    step = next((n * lanes for n in (CHAINS, 2, 1) if size % (n * lanes) == 0), 0)
    rows = next((n for n in (8, 6, 5, 4, 7) if count % n == 0), 0)
    if not step or not rows or count < 2 * ROWS or size < LONG_ROW * lanes:
        return None
    others = [extent(iv) for iv, _ in nest.spatial[:-1]]
    apart = math.prod(other or SYMBOLIC for other in others)
    share = -(-size * apart // cpu.cores) if apart < cpu.cores else size
    most = min(max(share, LONG_ROW * lanes), cpu.l1d_bytes // 3 // size_of_one)
    columns = max((n for n in range(step, most + 1, step) if size % n == 0), default=0)
    return Strips(rows, columns, step) if columns >= LONG_ROW * lanes else None


def _row_by_row(
    sch: Schedule, nest: Nest, strips: Strips, cpu: CpuModel, pending: Decompositions
) -> str:
    lanes = cpu.lanes(nest.node.writes[0].buffer.dtype.bits)
    spatial = [loop for _, loop in nest.spatial]
    reducing = [loop for _, loop in nest.reducing]
    back = write_back(sch, nest.block, "global")
    factors: list[PrimExpr | int | None] = [
        None, strips.columns // strips.step, strips.step // lanes, lanes,
    ]  # fmt: skip
    outer, steps, vectors, inner = sch.split(spatial[-1], factors=factors)
    chunks, rows = sch.split(reducing[-1], factors=[None, strips.rows])
    sch.reorder(*spatial[:-1], outer, *reducing[:-1], chunks, steps, rows, vectors, inner)
    sch.reverse_compute_at(back, outer)
    sch.vectorize(inner)
    for loop in (vectors, rows):
        sch.unroll(loop)
    below = sch.get_loops(back)[len(spatial) :]
    if below:
        sch.vectorize(sch.split(below[-1], factors=[None, strips.step])[-1])
    pending.append((nest.block, [*reducing[:-1], chunks][0]))
    return _parallelize_by_cost(sch, nest, [*spatial[:-1], outer], cpu)


def _columns(nest: Nest, lanes: int) -> list[PrimExpr | int | None]:
    """Factors of the loop across memory: outer, vectors a step, lanes of each."""
    size = extent(nest.spatial[-1][0])
    if size is None:
        return [None, 1, lanes]
    if size >= lanes:
        count = max(c for c in range(1, CHAINS + 1) if size // lanes % c == 0 or c == 1)
        return [None, count if size % lanes == 0 else 1, lanes]
    return [None, 1, round_up(size, lanes)]


def write_back(sch: Schedule, block: BlockRV, scope: str = "local") -> BlockRV:
    """The block that stores the finished values: an elementwise consumer, or else a copy.

    The values themselves stay in registers, or in memory of another scope.
    """
    users = sch.get_consumers(block)
    if len(users) == 1 and reads_in_place(sch, block, users[0]):
        sch.set_scope(block, 0, scope)
        return users[0]
    return sch.cache_write(block, 0, scope)


def reads_in_place(sch: Schedule, block: BlockRV, user: BlockRV) -> bool:
    """True if the consumer is spatial and reads each value at variables of its own, and no more."""
    node: Block = sch.get(user)
    if node.init is not None or any(iv.iter_type != IterVar.DataPar for iv in node.iter_vars):
        return False
    made = sch.get(block).writes[0].buffer
    if made not in {b for _, root in sch.state.roots() for b in _allocated(root.stmt)}:
        return False
    wide = {iv.var for iv in node.iter_vars if extent(iv) != 1}
    for region in node.reads:
        if region.buffer is made:
            names = [r.min for r in region.region if isinstance(r.min, Var)]
            told = wide <= set(names) and len(set(names)) == len(names)
            return told and index_outside(node, made, [r.min for r in region.region]) is None
    return False


def _allocated(block: object) -> tuple[Buffer, ...]:
    return block.alloc_buffers if isinstance(block, Block) else ()


def _unroll_short(sch: Schedule, loop: LoopRV) -> None:
    size = sch.get(loop).extent
    if isinstance(size, IntImm) and 1 < size.value <= UNROLL:
        sch.unroll(loop)


def split_into_lanes(
    sch: Schedule, nest: Nest, lanes: int, *, wide: bool = True
) -> list[BlockRV]:
    """Make vectors of partial results, and from them a tree; returns the new blocks in order.

    Two vectors where a row may be of any length, unless not `wide`: one.
    """
    reducing = [loop for _, loop in nest.reducing]
    run = reducing[-_collapsible(nest) :]
    loop = sch.fuse(*run) if len(run) > 1 else run[0]
    size = sch.get(loop).extent
    known = size.value if isinstance(size, IntImm) else None
    # rows of planes may be short, a row alone is long enough for two chains
    two = wide and known is None and len(run) == len(reducing)
    width = 2 * lanes if two else lane_count(known, lanes)
    stages: list[BlockRV] = []
    while width > 1:
        _, part = sch.split(loop, factors=[None, width])
        made = sch.rfactor(part, factor_axis=len(sch.get(nest.block).writes[0].buffer.shape))
        sch.set_scope(made, 0, "local")
        stages.append(made)
        if width <= TREE:
            break
        loop = sch.get_loops(nest.block)[-1]
        width //= TREE
    return stages


def lane_count(size: int | None, lanes: int) -> int:
    """Partial results of the first stage: several vectors, where they divide the reduction."""
    if size is None:
        return lanes
    for wide in (CHAINS * lanes, 2 * lanes, lanes):
        if size % wide == 0 and size >= 2 * wide:
            return wide
    if size % lanes == 0:
        return max(lanes // TREE, 1) if size == lanes else lanes
    return lanes


def _along(sch: Schedule, nest: Nest, cpu: CpuModel, pending: Decompositions) -> str:
    lanes = cpu.lanes(nest.node.writes[0].buffer.dtype.bits)
    spatial = [loop for _, loop in nest.spatial]
    stages = split_into_lanes(sch, nest, lanes)
    users = sch.get_consumers(nest.block)
    back = users[0] if len(users) == 1 and reads_in_place(sch, nest.block, users[0]) else None
    if not spatial:
        for stage in stages:
            vectorize_stage(sch, stage, pending, 0)
        vectorize_stage(sch, nest.block, pending, 0)
        return "serial"
    outer = split_loops(sch, nest.block, 0)[0]
    row = sch.fuse(*outer) if len(outer) > 1 else outer[0]
    if back is not None:
        sch.reverse_compute_at(back, row)
        sch.set_scope(nest.block, 0, "local")
    for stage in reversed(stages):
        sch.compute_at(stage, row)
    for stage in [*stages, nest.block]:
        vectorize_stage(sch, stage, pending, 1)
    return _parallelize_by_cost(sch, nest, [row], cpu)


def split_loops(
    sch: Schedule, block: BlockRV, depth: int
) -> tuple[list[LoopRV], list[LoopRV]]:
    """The loops of a block below `depth` outer ones: those of its result, and those of its sum."""
    node: Block = sch.get(block)
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    kinds: dict[Var, int] = {}
    for iv, value in zip(node.iter_vars, values):
        for part in walk(value):
            if isinstance(part, Var):
                kinds[part] = iv.iter_type
    below = sch.get_loops(block)[depth:]
    spatial = [l for l in below if kinds.get(sch.get(l).loop_var) == IterVar.DataPar]
    reducing = [l for l in below if kinds.get(sch.get(l).loop_var) == IterVar.CommReduce]
    return spatial, reducing


def vectorize_stage(
    sch: Schedule, block: BlockRV, pending: Decompositions, depth: int
) -> None:
    """Below `depth` loops: spatial loops innermost and vectors, short reducing ones unrolled."""
    below = sch.get_loops(block)[depth:]
    spatial, reducing = split_loops(sch, block, depth)
    if spatial and reducing and below != [*reducing, *spatial]:
        sch.reorder(*reducing, *spatial)
    if spatial and isinstance(sch.get(spatial[-1]).extent, IntImm):
        sch.vectorize(spatial[-1])
    if reducing:
        _unroll_short(sch, reducing[-1])
        pending.append((block, reducing[0]))
        if not isinstance(sch.get(reducing[-1]).extent, IntImm):
            keep_whole(sch, reducing[-1])


def keep_whole(sch: Schedule, loop: LoopRV) -> None:
    """Let only the last of a loop's vectors be tested for lanes past the end."""
    sch.annotate(loop, PARTITION, 1)


def _plain(sch: Schedule, nest: Nest, cpu: CpuModel, pending: Decompositions) -> str:
    spatial = [loop for _, loop in nest.spatial]
    reducing = [loop for _, loop in nest.reducing]
    if spatial:
        back = write_back(sch, nest.block)
        sch.reorder(*spatial, *reducing)
        sch.reverse_compute_at(back, spatial[-1])
    size = reduction_size(nest)
    for loop in reducing if size is not None and size <= UNROLL else reducing[-1:]:
        _unroll_short(sch, loop)
    pending.append((nest.block, reducing[0]))
    return _parallelize_by_cost(sch, nest, spatial, cpu)


def try_along(
    sch: Schedule, block: BlockRV, cpu: CpuModel, *, wide: bool = True
) -> list[BlockRV]:
    """Split a reduction into lanes (see `split_into_lanes`) where that pays; the new blocks."""
    nest = nest_of(sch, block)
    if nest is None:
        return []
    lanes = cpu.lanes(nest.node.writes[0].buffer.dtype.bits)
    if across_memory(nest) or not along_memory(nest, lanes):
        return []
    try:
        return split_into_lanes(sch, nest, lanes, wide=wide)
    except ScheduleError:
        return []
