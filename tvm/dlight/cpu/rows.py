"""Several passes over a row made one loop of rows: softmax, normalisations.

    for i, k: M[i] = max(M[i], A[i, k])            for i:
    for i, k: E[i, k] = exp(A[i, k] - M[i])            m = max over k of A[i, k]
    for i, k: S[i] += E[i, k]                 ->       e[k] = exp(A[i, k] - m)
    for i, k: B[i, k] = E[i, k] / S[i]                 s = sum of e
                                                       B[i, k] = e[k] / s
The row stays in the innermost cache between the passes.
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.ir.structural import structural_equal
from tvm.target.cpu_model import CpuModel
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm, Var
from tvm.tir.functor import uses_var, vars_in
from tvm.tir.op.arith import ceildiv
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block

from .access import access_strides, flops, is_vectorizable, volume
from .base import Decompositions, root_blocks
from .cost import bytes_us, flops_us, parallelize_by_cost
from .elementwise import vector_width
from .reduction import keep_whole, split_loops, try_along, vectorize_stage

FETCHED = 1024  # bytes of a row from which on the next one is fetched meanwhile


def schedule_rows(sch: Schedule, cpu: CpuModel, pending: Decompositions) -> str | None:
    """Fuse the passes of a function over its rows; None if it is not of that shape."""
    blocks = root_blocks(sch)
    if len(blocks) < 2:
        return None
    last = blocks[-1]
    rows = _row_count(sch, blocks[:-1], last)
    if rows is None:
        return None
    work = sum(_work(sch, block, cpu) for block in blocks)
    parts: list[BlockRV] = []
    for block in blocks[:-1]:
        if sch.get(block).init is not None:
            parts.extend(try_along(sch, block, cpu, wide=not _reads_a_pass(sch, block)))
        parts.append(block)
    loops = sch.get_loops(last)
    row = _fused(sch, loops[:rows])
    if row is None:
        row = sch.add_unit_loop(loops[0] if loops else last)
    moved: list[BlockRV] = []
    for block in reversed(parts):
        try:
            sch.compute_at(block, row, preserve_unit_loops=False)
        except ScheduleError:
            break
        moved.append(block)
    done = _sum_while_made(sch, moved, row, cpu, pending)
    for block in moved:
        if sch.get_sref(block) not in done:
            _vectorize(sch, block, row, cpu, pending)
    _vectorize(sch, last, row, cpu, pending)
    spread = parallelize_by_cost(sch, [row], cpu, work, sch.get(last))
    return f"{len(moved) + 1} passes over each row in one loop, {spread}"


def _sum_while_made(
    sch: Schedule, moved: list[BlockRV], row: LoopRV, cpu: CpuModel, pending: Decompositions
) -> set[StmtSRef]:
    """Reduce what a pass makes in the same loop, while it is in registers; returns the blocks."""
    done: set[StmtSRef] = set()
    inside = {sch.get_sref(block) for block in moved}
    for block in moved:
        if sch.get(block).init is None:
            continue
        makers = [maker for maker in sch.get_producers(block) if sch.get_sref(maker) in inside]
        if len(makers) != 1 or sch.get(makers[0]).init is not None:
            continue
        made, depth = makers[0], _depth(sch, makers[0], row)
        below = sch.get_loops(made)[depth:]
        lanes, steps = split_loops(sch, block, depth)
        if len(below) != 1 or len(lanes) != 1 or len(steps) != 1:
            continue
        width = sch.get(lanes[0]).extent
        sizes = [sch.get(loop).extent for loop in (below[0], steps[0])]
        if not isinstance(width, IntImm) or width.value < cpu.lanes(32):
            continue
        known = all(isinstance(size, IntImm) for size in sizes)
        if known and sizes[0].value != sizes[1].value * width.value:
            continue
        rounds = Analyzer().simplify(ceildiv(sizes[0], width.value))
        if not known and not structural_equal(sizes[1], rounds):
            continue
        outer, inner = sch.split(below[0], factors=[None, width.value])
        if known:
            sch.reverse_compute_at(block, outer)
        else:  # lanes past the end have a sum, and nothing that makes them
            sch.reorder(*steps, *lanes)
            outer = sch.merge(outer, steps[0])
        sch.vectorize(inner)
        sch.vectorize(sch.get_loops(block)[-1])
        if known:
            _fetch_next(sch, made, outer, sizes[0].value, cpu)
        else:
            keep_whole(sch, outer)
        pending.append((block, outer))
        done |= {sch.get_sref(block), sch.get_sref(made)}
    return done


def _reads_a_pass(sch: Schedule, block: BlockRV) -> bool:
    """Whether a reduction reads what one pass over the row has made."""
    makers = sch.get_producers(block)
    return len(makers) == 1 and sch.get(makers[0]).init is None


def _fetch_next(sch: Schedule, block: BlockRV, loop: LoopRV, size: int, cpu: CpuModel) -> None:
    """Let a pass that computes fetch the next row, so that the first pass over that finds it."""
    node: Block = sch.get(block)
    if FETCHED <= size * node.writes[0].buffer.dtype.itemsize <= cpu.l1d_bytes // 4:
        sch.annotate(loop, "prefetch_ahead", size)


def _depth(sch: Schedule, block: BlockRV, row: LoopRV) -> int:
    """How many loops stand around a block up to that of the rows."""
    return [sch.get_sref(l) for l in sch.get_loops(block)].index(sch.get_sref(row)) + 1


def _row_count(sch: Schedule, blocks: list[BlockRV], last: BlockRV) -> int | None:
    """How many outer loops of the last block are rows: reduced buffers are read at these."""
    node: Block = sch.get(last)
    if node.init is not None or not node.iter_vars:
        return None
    reduced = {sch.get(b).writes[0].buffer for b in blocks if sch.get(b).init is not None}
    if not reduced:
        return None
    used: set[Var] = set()
    met = False
    for region in node.reads:
        if region.buffer in reduced:
            met = True
            used |= {n for r in region.region for n in vars_in(r.min)}
    if not met:
        return None
    values = realize_of(sch.state, sch.get_sref(last)).iter_values
    by_loop = dict(zip(values, [iv.var for iv in node.iter_vars]))
    names = [by_loop.get(sch.get(l).loop_var) for l in sch.get_loops(last)]
    count = 0
    while count < len(names) and names[count] in used:
        count += 1
    wide = {
        iv.var
        for iv in node.iter_vars
        if iv.var in used and not (iv.dom is not None and _is_one(iv.dom.extent))
    }
    return count if wide <= set(names[:count]) and count < len(names) else None


def _is_one(expr: object) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1


def _fused(sch: Schedule, loops: list[LoopRV]) -> LoopRV | None:
    if not loops:
        return None
    kinds = {sch.get(loop).loop_var.dtype for loop in loops}
    if len(kinds) > 1:
        return loops[-1]  # a fused loop of casts says nothing of where rows lie
    return sch.fuse(*loops) if len(loops) > 1 else loops[0]


def _work(sch: Schedule, block: BlockRV, cpu: CpuModel) -> float:
    node: Block = sch.get(block)
    runs = volume(node)
    bits = node.writes[0].buffer.dtype.bits
    return max(flops_us(cpu, runs * flops(node), bits), bytes_us(runs * bits / 8))


def _vectorize(
    sch: Schedule, block: BlockRV, row: LoopRV, cpu: CpuModel, pending: Decompositions
) -> None:
    node: Block = sch.get(block)
    depth = _depth(sch, block, row)
    if node.init is not None:
        vectorize_stage(sch, block, pending, depth)
        return
    below = sch.get_loops(block)[depth:]
    if not below:
        return
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    inner = sch.get(below[-1])
    moving = [
        iv.var
        for iv, value in zip(node.iter_vars, values)
        if uses_var(value, inner.loop_var)
    ]
    if len(moving) != 1 or not is_vectorizable(access_strides(node), moving[0]):
        return
    lanes = cpu.lanes(node.writes[0].buffer.dtype.bits)
    size = inner.extent.value if isinstance(inner.extent, IntImm) else None
    width = vector_width(size, lanes)
    if size == width:
        sch.vectorize(below[-1])
    else:
        vectors, vector = sch.split(below[-1], factors=[None, width])
        sch.vectorize(vector)
        if size is None:
            keep_whole(sch, vectors)
