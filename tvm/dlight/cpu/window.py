"""Windows that slide over planes: depthwise convolutions, pools.

    for c, y, x, ry, rx: B[c, y, x] += A[c, y * s + ry, x * s + rx] * W[c, ry, rx]

    for c:                                            # parallel where it is worth it
        for yo, xo:
            P = rows of A[c] with their padding                # in the innermost cache
            acc[RY, V] = 0                                     # vector registers
            for rx, ry: acc[y, :] += P[y * s + ry, xo * V * s + rx :: s] * W[c, ry, rx]
            B[c, yo * RY :, xo * V :] = epilogue(acc)

All steps of a window stand one after the other, column by column, so that a row of the plane that
was read for one row of the result is still in a register for the next.
"""

from __future__ import annotations

import math
from typing import Final

from tvm.arith import ProofStrength
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Var
from tvm.tir.functor import vars_in
from tvm.tir.op.arith import is_one, logical_and
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.schedule.rebuild import change_loop
from tvm.tir.stmt import Block, BlockRealize, BufferStore, For

from .access import accesses, extent, flops, volume
from .base import Decompositions
from .cost import bytes_us, flops_us, parallelize_by_cost
from .elementwise import vector_width
from .planes import Plane, plane_of, round_up
from .reduction import Nest, keep_whole, nest_of, write_back

WIDEST_STEP: Final = 4  # elements between lanes that are picked from whole vectors
MAX_STEPS: Final = 64  # of a window that stand one after the other
MAX_ROWS: Final = 8
PLANE_BYTES: Final = 16 * 1024  # a padded plane of so many is made at once, larger ones by rows
KNOWN_ROWS: Final = 32  # a plane of at most so many, of a length that is a symbol, is too
UNKNOWN_ROWS: Final = 4  # of a tile, where there may be few
PER_TILE: Final = 2.0  # vector instructions that a tile takes beside loads and FMAs


def slides(nest: Nest, cpu: CpuModel) -> bool:
    """True for windows over planes that lie along the result, with steps of a few elements.

    Vectors along the result are worth it where they are not mostly empty.
    """
    if not nest.spatial or any(extent(iv) is None for iv, _ in nest.reducing):
        return False
    last = nest.spatial[-1][0]
    size = extent(last)
    lanes = cpu.lanes(nest.node.writes[0].buffer.dtype.bits)
    if size is not None and size * 4 < lanes:
        return False
    own = {region.buffer for region in nest.node.writes}
    found = False
    for access, moves in accesses(nest.node):
        step = moves[last.var]
        if access.buffer in own:
            if step != 1:
                return False
            continue
        if step is None or not 0 <= step <= WIDEST_STEP:
            return False
        if step:
            found = found or _has_windows(nest, access)
    return found


def _has_windows(nest: Nest, access: BufferLoad | BufferStore) -> bool:
    """True if an index of a plane adds a variable of the result and one of the window."""
    plane = {iv.var for iv, _ in nest.spatial[-2:]}
    steps = {iv.var for iv, _ in nest.reducing}
    for index in access.indices:
        used = set(vars_in(index))
        if used & plane and used & steps:
            return True
    return False


def schedule_window(
    sch: Schedule, block: BlockRV, cpu: CpuModel, pending: Decompositions
) -> str | None:
    """Schedule a block whose windows slide over planes; None for others."""
    nest = nest_of(sch, block)
    if nest is None or not slides(nest, cpu):
        return None
    node, bits = nest.node, nest.node.writes[0].buffer.dtype.bits
    plane = plane_of(node)
    work = _work(cpu, nest, bits)
    rows, width = _rows(nest, plane, cpu), _width(nest, cpu.lanes(bits))
    pad = None if plane is None else _whole_tiles(sch, nest, plane, rows, width)
    if pad is None:
        pad = _padding(sch, nest)
        height = extent(nest.spatial[-2][0]) if len(nest.spatial) > 1 else None
        rows = 1 if height is None else max(n for n in range(1, rows + 1) if height % n == 0)
    back = write_back(sch, block)
    spatial = [loop for _, loop in nest.spatial]
    xo, xi = sch.split(spatial[-1], factors=[None, width])
    inner: list[LoopRV] = []
    around = [xo]
    if rows > 1:
        yo, yi = sch.split(spatial[-2], factors=[None, rows])
        inner, around, spatial = [yi], [yo, xo], spatial[:-1]
    taps = _by_column(nest)
    sch.reorder(*spatial[:-1], *around, *taps, *inner, xi)
    sch.reverse_compute_at(back, xo)
    _order_back(sch, back, xo, sch.get(xi).extent.value)
    if pad is not None:
        _make_padding(sch, pad, spatial[:-1], around, cpu)
    sch.vectorize(xi)
    steps = 1
    for (iv, _), loop in reversed(list(zip(_columns_first(nest), taps))):
        steps *= extent(iv) or 1
        if steps <= MAX_STEPS:
            sch.unroll(loop)
    for loop in inner:
        sch.unroll(loop)
    pending.append((block, taps[0]))
    outer = spatial[:-1] or around[:1]
    several = any(extent(iv) is None for iv, _ in nest.spatial)
    spread = parallelize_by_cost(sch, outer, cpu, work, node, heavy=several)
    return f"{node.name_hint}: windows over {rows} rows of vectors, {spread}"


def _work(cpu: CpuModel, nest: Nest, bits: int) -> float:
    runs = volume(nest.node)
    return max(flops_us(cpu, runs * flops(nest.node), bits), bytes_us(runs * bits / 8))


def _width(nest: Nest, lanes: int) -> int:
    """Lanes along the result: a vector, or the power of two that a short row fits in."""
    size = extent(nest.spatial[-1][0])
    if size is None or size >= lanes:
        return lanes
    return 1 << (size - 1).bit_length()


def _whole_tiles(
    sch: Schedule, nest: Nest, plane: Plane, rows: int, width: int
) -> BlockRV | None:
    """Round the result up to tiles if they do not divide it; returns the copy of the plane."""
    multiples = {nest.spatial[-1][0].var: width}
    if rows > 1:
        multiples[nest.spatial[-2][0].var] = rows
    whole = all(
        size is not None and size % multiples.get(iv.var, 1) == 0
        for iv, _ in nest.spatial
        if iv.var in multiples
        for size in [extent(iv)]
    )
    return None if whole else round_up(sch, nest.block, plane, multiples, width)


def _rows(nest: Nest, plane: Plane | None, cpu: CpuModel) -> int:
    """Rows of the result made at once: accumulators and the rows that they read stay in registers.

    Each column of a window loads the rows that the tile reads, and multiplies rows times its
    height; rows past the end are computed in vain.
    """
    if len(nest.spatial) < 2:
        return 1
    row, height = nest.spatial[-2][0].var, extent(nest.spatial[-2][0])
    step = _row_step(nest) if plane is None else plane.step(row)
    if step is None:
        return 1
    reach, taps = _reach(nest, plane, row)
    most = max(min(MAX_ROWS, (cpu.vector_registers - 6) // (step + 1)), 1)
    if height is None:
        return min(most, UNKNOWN_ROWS)

    def cost(rows: int) -> float:
        loads = (rows - 1) * step + reach
        return -(-height // rows) * (rows * taps / cpu.fma_ports + loads / 2 + PER_TILE)

    return min(range(1, most + 1), key=cost)


def _reach(nest: Nest, plane: Plane | None, row: Var) -> tuple[int, int]:
    """Rows of the plane that one row of the result reads, and steps of the window along them."""
    for terms in () if plane is None else plane.terms:
        if row in terms:
            window = [(iv, terms[iv.var]) for iv, _ in nest.reducing if terms.get(iv.var)]
            sizes = [(extent(iv) or 1, scale) for iv, scale in window]
            return 1 + sum((n - 1) * scale for n, scale in sizes), math.prod(n for n, _ in sizes)
    return 1, 1


def _row_step(nest: Nest) -> int | None:
    """Rows of the plane between two rows of the result; None if rows are no part of windows."""
    row, column = nest.spatial[-2][0].var, nest.spatial[-1][0].var
    for access, moves in accesses(nest.node):
        far = moves[row]
        if not isinstance(access, BufferLoad) or not moves[column] or not far:
            continue
        near = [moves[iv.var] or 0 for iv, _ in nest.reducing]
        steps = [far // m for m in near if m > WIDEST_STEP and far % m == 0]
        if steps:
            return max(steps)
    return None


def _columns_first(nest: Nest) -> list[tuple[IterVar, LoopRV]]:
    """The reducing loops, with the last one (along rows) before the one over rows."""
    loops = nest.reducing
    return [*loops[:-2], loops[-1], loops[-2]] if len(loops) > 1 else loops


def _by_column(nest: Nest) -> list[LoopRV]:
    return [loop for _, loop in _columns_first(nest)]


def _order_back(sch: Schedule, back: BlockRV, xo: LoopRV, width: int) -> None:
    below = sch.get_loops(back)
    position = [sch.get_sref(loop) for loop in below].index(sch.get_sref(xo))
    below = below[position + 1 :]
    if not below:
        return
    for loop in below[:-1]:
        sch.unroll(loop)
    sch.vectorize(sch.split(below[-1], factors=[None, width])[-1])


def _padding(sch: Schedule, nest: Nest) -> BlockRV | None:
    """The block that only makes the padded plane for this one."""
    for producer in sch.get_producers(nest.block):
        node: Block = sch.get(producer)
        spatial = all(iv.iter_type == IterVar.DataPar for iv in node.iter_vars)
        if spatial and node.init is None and len(sch.get_consumers(producer)) == 1:
            step = [m for a, m in accesses(nest.node) if a.buffer is node.writes[0].buffer]
            if any(moves[nest.spatial[-1][0].var] for moves in step):
                return producer
    return None


def _make_padding(
    sch: Schedule, pad: BlockRV, planes: list[LoopRV], around: list[LoopRV], cpu: CpuModel
) -> None:
    """Make the padded plane where it is used, whole or by the rows of a tile."""
    buffer = sch.get(pad).writes[0].buffer
    sizes = [extent(iv) for iv in sch.get(pad).iter_vars[len(planes) :]]
    size = buffer.dtype.bits // 8
    for n in sizes:
        size = size * n if n is not None else PLANE_BYTES + 1
    if planes and len(sizes) > 1 and all(n is not None and n <= KNOWN_ROWS for n in sizes[:-1]):
        size = min(size, PLANE_BYTES) if sizes[-1] is None else size
    target = planes[-1] if planes and size <= PLANE_BYTES else around[0]
    if target is around[-1]:
        return
    try:
        sch.compute_at(pad, target, preserve_unit_loops=True)
    except ScheduleError:
        return
    _without_idle_guards(sch, pad)
    loop = sch.get_loops(pad)[-1]
    length = sch.get(loop).extent
    known = getattr(length, "value", None)
    lanes = cpu.lanes(buffer.dtype.bits)
    width = vector_width(known, lanes)
    if known == width:
        sch.vectorize(loop)
        return
    if width > lanes and width % lanes:
        width = lanes  # vectors of an odd size are taken apart
    vectors, vector = sch.split(loop, factors=[None, width])
    sch.vectorize(vector)
    if known is None or known % width:
        keep_whole(sch, vectors)


def _without_idle_guards(sch: Schedule, block: BlockRV) -> None:
    """Drop predicates that hold for all sizes, which needs symbolic bounds to prove."""
    sref = sch.get_sref(block)
    realize, around = realize_of(sch.state, sref), sref.parent
    assert around is not None, "a block has a parent"
    loop = around.stmt
    if is_one(realize.predicate) or not isinstance(loop, For) or loop.body is not realize:
        return
    analyzer = analyzer_at(around)
    left: PrimExpr = IntImm("bool", 1)
    for term in conjuncts(realize.predicate):
        if not analyzer.can_prove(term, ProofStrength.SYMBOLIC_BOUND):
            left = logical_and(left, term)
    new = BlockRealize(realize.iter_values, left, realize.block, realize.span)
    sch.state.replace(around, change_loop(loop, body=new))
