"""Convolutions whose channels are last, windows read where they lie.

    for jo, n, y, xo:                        # parallel
        acc[R, NR] = 0                       # vector registers
        for ry, rx, c:
            acc[i, :] += X[n, y + ry, xo * R + i + rx, c] * W[ry, rx, c, jo * NR :]
        C[n, y, xo * R + i, jo * NR :] = epilogue(acc[i, :])

The product of a matrix of windows, which nobody makes, by the weights: an element of the data is a
broadcast, the weights are vectors as they lie, or as panels where their layout is free.
"""

from __future__ import annotations

from dataclasses import replace

from tvm.dlight.analysis.contraction import Contraction
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import IterVar, Var
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.query import realize_of

from .base import Decompositions
from .contraction import MatrixForm, extent_of, product_us, vectorize_back, write_back
from .cost import parallelize_by_cost
from .tiles import LOAD_COST, MAX_ROWS, MAX_VECTORS, Tile, tile_cost
from .weights import free_buffers, pack


def channels_last_form(
    sch: Schedule, block: BlockRV, found: Contraction | None
) -> MatrixForm | None:
    """Rows are positions of one row of the image, columns its filters; None for other blocks."""
    if found is None or found.lhs.is_plain() or not found.rhs.is_plain():
        return None
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    dtypes = {found.output.dtype, found.lhs.buffer.dtype, found.rhs.buffer.dtype}
    if len(dtypes) != 1 or not found.output.dtype.is_float or found.output.dtype.bits < 32:
        return None
    order = [index for index in found.store if isinstance(index, Var)]
    sizes = [extent_of([iv]) for iv in (*found.m, *found.n, *found.k)]
    if len(order) != len(found.store) or None in sizes:
        return None
    if not all(isinstance(value, Var) for value in values):
        return None
    rows = [iv for iv in found.m if extent_of([iv]) != 1]
    if len(found.n) != 1 or found.n[0].var is not order[-1] or not rows:
        return None
    row = next((iv for iv in rows if iv.var is order[-2]), None)
    # the filters are vectors as they lie: one after another in memory
    if row is None or found.rhs.innermost() is not found.n[0].var:
        return None
    outer = sorted(
        [iv for iv in (*found.batch, *found.m) if iv is not row],
        key=lambda iv: order.index(iv.var),
    )
    return MatrixForm(tuple(outer), (row,), found.n, _as_they_lie(found))


def _as_they_lie(found: Contraction) -> tuple[IterVar, ...]:
    """The summed variables in the order of the weights' dimensions."""
    position = {index: at for at, index in enumerate(found.rhs.indices)}
    return tuple(sorted(found.k, key=lambda iv: position.get(iv.var, -1)))


def channels_last_tile(form: MatrixForm, bits: int, cpu: CpuModel) -> Tile | None:
    """The tile of least time that divides rows and filters; None if there is none of many sums."""
    rows, filters = extent_of(form.m), extent_of(form.n)
    assert rows is not None, "known, as the form is"
    assert filters is not None, "known, as the form is"
    lanes = cpu.lanes(bits)
    while filters % lanes and lanes > 1:
        lanes //= 2
    tiles = [
        Tile(r, v * lanes, 1, lanes)
        for v in range(1, MAX_VECTORS + 1) if filters % (v * lanes) == 0
        for r in range(2, MAX_ROWS + 1) if rows % r == 0
        and r * v + v + 1 <= cpu.vector_registers
    ]  # fmt: skip
    narrow = replace(cpu, vector_bits=lanes * bits)
    # weights come from the second cache, elements of the data from the first
    cost = {t: tile_cost(narrow, t) + LOAD_COST / t.rows for t in tiles}
    return min(tiles, key=lambda tile: cost[tile]) if lanes > 1 and tiles else None


def schedule_channels_last(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    form: MatrixForm,
    tile: Tile,
    cpu: CpuModel,
    pending: Decompositions,
) -> str:
    """Tile the convolution; returns a sentence of reason."""
    row, channel = form.m[0], form.n[0]
    free = found.rhs.buffer in free_buffers(sch)
    if free:
        panel = sch.cache_read(block, found.rhs.read_index, "global")
        column = list(found.rhs.indices).index(channel.var)
        pack(sch, panel, [False] * len(found.rhs.indices), column, tile.columns)
    sums = write_back(sch, block)
    loops = dict(zip([iv.var for iv in sch.get(block).iter_vars], sch.get_loops(block)))
    jo, jv, ji = sch.split(loops[channel.var], [None, tile.columns // tile.lanes, tile.lanes])
    xo, xi = sch.split(loops[row.var], [None, tile.rows])
    outer = [loops[iv.var] for iv in form.outer]
    steps = [loops[iv.var] for iv in form.k]
    sch.reorder(jo, *outer, xo, *steps, xi, jv, ji)
    sch.reverse_compute_at(sums, xo)
    vectorize_back(sch, sums, xo, tile.lanes)
    sch.vectorize(ji)
    sch.unroll(jv)
    sch.unroll(xi)
    pending.append((block, steps[0]))
    work = product_us(cpu, found.output.dtype.bits, form)
    spread = parallelize_by_cost(sch, [jo, *outer, xo], cpu, work, sch.get(block), heavy=True)
    spread = "serial, too little work for threads" if spread == "serial" else spread
    weights = "packed beforehand" if free else "read in place"
    return (
        f"{tile.rows}x{tile.columns} tile, channels last: {tile.accumulators()} of "
        f"{cpu.vector_registers} vector registers hold sums, weights {weights}, {spread}"
    )
