"""Convolutions with windows of one element: products of places by packed channels.

    for jo, n:                               # parallel; or n, jo
        sums[N, NR] = 0                      # in the first cache
        for ko:                              # slices of the channels, whose weights stay there too
            for xo in N / R:
                acc[R, NR] = 0               # vector registers
                for ki: acc[i, :] += X[n, k, min(xo * R + i, last)] * W_packed[jo, k, :]
                sums[xo * R + i, :] += acc[i, :]
        tile[NR, N] = transposed(sums)       # in registers, square by square
        for j, x: C[n, jo * NR + j, x] = epilogue(tile[j, x])

A small plane without windows is one run of places, whose tiles end anywhere: what lies past the end
is the last place once more, and not stored. So all tiles are of the shape that the machine likes
best, also over 7x7 and 14x14. A slice of the panel of weights is read from the first cache by all
tiles but one (K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
2008, split the sum for that), and the epilogue runs along the plane in whole vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tvm.dlight.analysis.contraction import Contraction
from tvm.dlight.base import pad_operands
from tvm.target.cpu_model import CpuModel
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.tensor_intrin.transposition import transposition

from .base import Decompositions
from .columns import one_run
from .contraction import MatrixForm, extent_of, product_us, result_reader, to_matrix, vectorize_back
from .cost import parallelize_by_cost
from .direct_conv import (
    MIN_ROWS,
    ORDERS,
    TRANSPOSE,
    Moves,
    can_be_direct,
    cycles_of_gathered,
    transposed_at_once,
)
from .edges import read_last_row_again
from .tiles import LATENCY, MAX_ROWS, MAX_VECTORS, Tile, choose_tile
from .weights import fetch_panels, pack

MAX_PLACES: Final = 256  # of a plane: sums of wider ones leave the first cache
LINE: Final = 64  # bytes, that each channel of a tile's places takes of the first cache
# How much slower tiles are whose slice of weights comes from the second cache.
SLICE_MISS: Final = 1.1
# Cycles for an element of the result that is added to the sum of the slices before.
ADD: Final = 0.1
# Time of a tile in the measure of `tile_cost`: always, by vectors, by 32 bytes of weights a row.
# Fitted to tiles of 3x4, 4x2, 4x3, 5x2, 6x2, 14x1 vectors of AVX2, 6x4, 8x3, 14x2 of AVX-512.
TILE: Final = (0.24, 1.22, 2.44)


@dataclass(frozen=True)
class RunForm:
    """A tile, the channels of a slice, and how many loops over images run around jo."""

    tile: Tile
    depth: int
    around: int = 0
    cycles: float = 0.0  # as modelled


def run_form(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel
) -> RunForm | None:
    """The form of a convolution that is faster this way than gathered; None for others."""
    m, n, k = extent_of(form.m), extent_of(form.n), extent_of(form.k)
    if m is None or n is None or k is None or n > MAX_PLACES:
        return None
    if not can_be_direct(sch, found, form) or not one_run(sch.get(block), form, found.rhs):
        return None
    bits = found.output.dtype.bits
    busy = cpu.lanes(bits) * cpu.fma_ports
    images = len(form.outer)
    moves = replace(Moves.of(found, form, cpu), rows=1, loops=(images, images))
    products = float(m) * n * k * moves.images / busy
    best: RunForm | None = None
    for tile in _tiles(cpu, bits, m):
        span = -(-n // tile.rows) * tile.rows
        rows, size = transposed_at_once(span, tile.lanes)
        cost = base = tile_time(cpu, tile) * span / n
        cost *= 1 + TRANSPOSE * size / rows * busy / k
        fetched, around = moves.least(m // tile.columns)
        for depth in _depths(k, tile.columns * bits // 8, cpu):
            whole = cost + ADD * base * busy * (k // depth - 1) / k
            if depth > _near(cpu, tile.columns * bits // 8):
                whole *= SLICE_MISS
            whole += moves.pages_of(depth) * tile.lanes * cpu.fma_ports / tile.columns
            cycles = products * whole + fetched
            if best is None or cycles < best.cycles * (1 - 1e-9):
                best = RunForm(tile, depth, around, cycles)
    if best is None:
        return None
    gathered = cycles_of_gathered(sch, block, found, form, cpu, moves)
    if k > _near(cpu, choose_tile(cpu, bits, m, n, k).columns * bits // 8):
        gathered *= SLICE_MISS
    return best if best.cycles < gathered else None


def _tiles(cpu: CpuModel, bits: int, channels: int) -> list[Tile]:
    """Tiles of whole vectors of channels, and as many places as there are registers for."""
    lanes = cpu.lanes(bits)
    return [
        Tile(rows, vectors * lanes, 1, lanes)
        for vectors in range(1, MAX_VECTORS + 1)
        for rows in range(MIN_ROWS, MAX_ROWS + 1)
        if channels % (vectors * lanes) == 0
        and rows * vectors + vectors + 1 <= cpu.vector_registers
    ]  # fmt: skip


def tile_time(cpu: CpuModel, tile: Tile) -> float:
    """Modelled time for each multiplication, as `tile_cost` has it of other forms."""
    vectors = tile.columns // tile.lanes
    always, vector, weights = TILE
    cost = always + vector / vectors + weights * cpu.vector_bits / 256 / tile.rows
    return cost * max(1.0, cpu.fma_ports * LATENCY / (tile.rows * vectors))


def _near(cpu: CpuModel, width: int) -> int:
    """How many channels stay in the first cache, with so many bytes of weights for each."""
    return cpu.l1d_bytes // (LINE + width)


def _depths(k: int, width: int, cpu: CpuModel) -> list[int]:
    """All channels, and the most of them, in equal slices, whose weights stay near."""
    most = max(depth for depth in range(1, min(_near(cpu, width), k) + 1) if k % depth == 0)
    return [k, most] if most < k else [k]


def schedule_run(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    form: MatrixForm,
    run: RunForm,
    cpu: CpuModel,
    pending: Decompositions,
) -> str:
    """Tile the product; returns a sentence of reason."""
    tile, outer = run.tile, len(form.outer)
    weights, places = to_matrix(sch, block, found, form)
    if (extent_of(form.n) or 0) % tile.rows:
        copies = pad_operands(sch, block, [1] * outer + [1, tile.rows, 1])
        read_last_row_again(sch, copies, sch.get(copies[0]).writes[0].buffer)
    sch.compute_inline(places)
    pack(sch, weights, [False, False], 0, tile.columns)
    back = result_reader(sch, block)
    if back is None:
        transposed = sch.cache_write(block, 0, "global")
    else:
        made, reads = sch.get(block).writes[0].buffer, sch.get(back).reads
        read_index = next(i for i, region in enumerate(reads) if region.buffer is made)
        transposed = sch.cache_read(back, read_index, "global")
    sch.transform_layout(block, ("write", 0), lambda *i: [*i[:-2], i[-1], i[-2]])
    *images, channel, place, step = sch.get_loops(block)
    lanes = min(tile.lanes, tile.columns)
    jo, jv, ji = sch.split(channel, factors=[None, tile.columns // lanes, lanes])
    xo, xi = sch.split(place, factors=[None, tile.rows])
    outside = [*images[: run.around], jo, *images[run.around :]]
    depth = len(outside)
    if (extent_of(form.k) or 0) > run.depth:
        ko, ki = sch.split(step, factors=[None, run.depth])
        sch.reorder(*outside, ko, xo, ki, xi, jv, ji)
        sums = sch.rfactor(ko, 0)
        *_, ko, xo, xi, jv, ji = sch.get_loops(block)
        sch.compute_at(sums, xo, preserve_unit_loops=True)
        sch.set_scope(sums, 0, "local")
        pending.append((block, ko))
        channel, place, ki = sch.get_loops(sums)[-3:]
        own_jv, own_ji = sch.split(channel, factors=[None, lanes])
        sch.reorder(ki, place, own_jv, own_ji)
        sch.vectorize(own_ji)
        sch.unroll(own_jv)
        sch.unroll(place)
        pending.append((sums, ki))
    else:
        sch.reorder(*outside, xo, step, xi, jv, ji)
        copy = sch.cache_write(block, 0, "local")
        sch.reverse_compute_at(copy, xo)
        vectorize_back(sch, copy, xo, lanes)
        pending.append((block, step))
    sch.vectorize(ji)
    sch.unroll(jv)
    sch.unroll(xi)
    outside = sch.get_loops(block)[:depth]
    fetch_panels(sch, xo, -(-(extent_of(form.n) or 1) // tile.rows))
    for copy in [transposed, *([] if back is None else [back])]:
        sch.reverse_compute_at(copy, outside[-1])
    _transpose(sch, transposed, sch.get_loops(transposed)[depth:], lanes)
    if back is not None and len(sch.get_loops(back)) > depth:
        _, vector = sch.split(sch.get_loops(back)[-1], factors=[None, lanes])
        sch.vectorize(vector)
    work = product_us(cpu, found.output.dtype.bits, form)
    spread = parallelize_by_cost(sch, outside, cpu, work, sch.get(block), heavy=True)
    spread = "serial, too little work for threads" if spread == "serial" else spread
    return (
        f"{tile.rows}x{tile.columns} tile, channels along vectors: {tile.accumulators()} of "
        f"{cpu.vector_registers} vector registers hold sums, planes are runs, "
        f"{run.depth} channels at a time"
        + (f", {ORDERS[0]}" if run.around else "") + f", {spread}"
    )


def _transpose(sch: Schedule, copy: BlockRV, loops: list[LoopRV], lanes: int) -> None:
    """Transpose blocks in registers, by squares or their first rows."""
    channels, places = loops[-2:]
    rows, size = transposed_at_once(sch.get(places).extent.value, lanes)
    if rows == 1:
        return
    fo, fi = sch.split(channels, factors=[None, size])
    xo, xi = sch.split(places, factors=[None, rows])
    sch.reorder(fo, xo, fi, xi)
    dtype = str(sch.get(copy).writes[0].buffer.dtype)
    sch.tensorize(fi, transposition(size, dtype, 0, 0, rows))
