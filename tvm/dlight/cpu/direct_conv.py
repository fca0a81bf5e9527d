"""Convolutions with their output channels along vectors, windows read where they lie.

    for jo, n, y, xo:                        # parallel; or n, jo, y, xo, or n, y, jo, xo
        acc[R, NR] = 0                       # vector registers
        for c, ry, rx:
            acc[i, :] += X[n, c, y + ry, xo * R + i + rx] * W_packed[jo, c, ry, rx, :]
        tile[NR, R] = transposed(acc)        # in registers, by squares or their first rows
        for j, i: C[n, jo * NR + j, y, xo * R + i] = epilogue(tile[j, i])

Nothing is gathered: an element of the plane is one broadcast, whatever the window's step, and a row
of R elements ends where the row of the image does. The product of gathered columns (`conv2d`) fills
whole vectors instead; small planes leave many lanes of those empty, and windows with a step
are slow to gather. The price here is transposing the result: little beside long sums. Elements of
a window lie a plane apart, where no processor fetches ahead, so images that leave the second cache
from one panel of channels to the next cost more than weights that do: the loops run in the order
that fetches least.
(Georganas et al., "Anatomy of High-Performance Deep Learning
Convolutions on SIMD Architectures", 2018, keep the channels along vectors in memory as well.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from tvm.dlight.analysis.contraction import Contraction
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import IntImm, Var
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.stmt import Block
from tvm.tir.tensor_intrin.transposition import transposition

from .base import Decompositions
from .columns import columns_of
from .contraction import MatrixForm, extent_of, product_us, result_reader, vectorize_back
from .cost import SYMBOLIC, parallelize_by_cost
from .tiles import MAX_ROWS, MAX_VECTORS, Tile, choose_tile, tile_cost
from .weights import fetch_panels, free_buffers, pack

# Cycles for an element: of the result transposed, and of a column gathered, side by side in the
# plane or with a step; AVX2 has no instruction that picks from two vectors.
TRANSPOSE: Final = 0.3
GATHER: Final = 0.3
GATHER_STEP: Final = 1.2
GATHER_STEP_AVX2: Final = 6.0
# A panel of weights beyond this share of the second cache is read again from the third.
PANEL_SHARE: Final = 0.75
PANEL_MISS: Final = 1.25
MIN_ROWS: Final = 4
# What may stay in the second cache while other data go by, and cycles for a byte that does not:
# read by windows, by panels of weights one after another where many tiles read each, or few do, and
# by rows of weights.
STAYS: Final = 0.5
WINDOW_BYTE: Final = 0.25
PANEL_BYTE: Final = 0.1
PASSING_BYTE: Final = 0.3
ROW_BYTE: Final = 0.3
# Cycles more for an element where each step along the sum is in another page, as fitted to planes
# of 14x14 to 56x56, and the most that it takes; the pages of small images are all known.
PAGE: Final = 4096
KNOWN_PAGES: Final = 64
OTHER_PAGE: Final = 0.5
MAX_OTHER_PAGE: Final = 1.2
ORDERS: Final = ("all channels of an image at a time", "all channels of a row at a time")


@dataclass(frozen=True)
class DirectForm:
    """A tile, and how many of the loops over images and rows run around that over channels."""

    tile: Tile
    around: int = 0
    cycles: float = 0.0  # as modelled


def direct_form(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel
) -> DirectForm | None:
    """The form of a convolution that is faster this way; None for others."""
    m, n, k = extent_of(form.m), extent_of(form.n), extent_of(form.k)
    columns = extent_of(form.n[-1:])
    if m is None or n is None or k is None or columns is None:
        return None
    if not can_be_direct(sch, found, form):
        return None
    bits = found.output.dtype.bits
    busy = cpu.lanes(bits) * cpu.fma_ports  # multiplications a cycle
    moves = Moves.of(found, form, cpu)
    products = float(m) * n * k * moves.images / busy  # cycles at best
    best: tuple[float, DirectForm] | None = None
    for tile in _tiles(cpu, bits, m, columns):
        cost = tile_cost(cpu, tile) * (1 + TRANSPOSE * busy / k)
        cost += moves.pages * tile.lanes * cpu.fma_ports / tile.columns
        if k * tile.columns * bits // 8 > PANEL_SHARE * cpu.l2_bytes:
            cost *= PANEL_MISS
        fetched, around = moves.least(m // tile.columns)
        cycles = products * cost + fetched
        if best is None or cycles < best[0] * (1 - 1e-9):
            best = (cycles, DirectForm(tile, around))
    if best is None or best[0] >= cycles_of_gathered(sch, block, found, form, cpu, moves):
        return None
    return DirectForm(best[1].tile, best[1].around, best[0])


def cycles_of_gathered(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel, moves: Moves
) -> float:
    """Modelled cycles of the product of gathered columns."""
    m, n, k = (extent_of(part) or 1 for part in (form.m, form.n, form.k))
    bits = found.output.dtype.bits
    busy = cpu.lanes(bits) * cpu.fma_ports
    gathered = choose_tile(cpu, bits, m, n, k)
    panels = -(-n // gathered.columns)
    cost = tile_cost(cpu, gathered, m) * panels * gathered.columns / n
    gather = GATHER
    if _is_stepped(sch.get(block), form, found):
        narrow = not {"avx512f", "neon"} & cpu.features
        gather = GATHER_STEP_AVX2 if narrow else GATHER_STEP
    cost *= 1 + gather * busy / m
    products = float(m) * n * k * moves.images / busy
    return products * cost + moves.rows_of_weights(panels)


@dataclass(frozen=True)
class Moves:
    """The bytes of a convolution, and what it costs to fetch those that do not stay near."""

    image: float
    weights: float
    images: int
    rows: int  # of the result of one image
    loops: tuple[int, int]  # loops over images, and over images and rows
    pages: float  # cycles for an element because of its page
    stays: float
    plane: float  # bytes


    @classmethod
    def of(cls, found: Contraction, form: MatrixForm, cpu: CpuModel) -> Moves:
        images = extent_of(form.outer) or SYMBOLIC
        data = [d.value if isinstance(d, IntImm) else SYMBOLIC for d in found.rhs.buffer.shape]
        weights = (extent_of(form.m) or 1) * (extent_of(form.k) or 1)
        size = found.output.dtype.bits // 8
        loops = len(form.outer), len(form.outer) + len(form.n) - 1
        plane = prod(data[-len(form.n) :])
        taps = weights / max(1, prod(data) / images / plane * (extent_of(form.m) or 1))
        pages, image = 0.0, prod(data) / images * size
        if image > KNOWN_PAGES * PAGE:
            pages = min(MAX_OTHER_PAGE, OTHER_PAGE * plane * size / PAGE) / max(1.0, taps)
        return cls(image, weights * size, images, extent_of(form.n[:-1]) or 1, loops, pages,
                   STAYS * cpu.l2_bytes, plane * size)  # fmt: skip

    def pages_of(self, channels: int) -> float:
        """`pages` where so many channels are gone through again and again."""
        return self.pages if channels * max(1.0, self.plane / PAGE) > KNOWN_PAGES else 0.0

    def _gone(self, nbytes: float) -> float:
        """How much of data that are read over and over is fetched each time."""
        return max(0.0, nbytes - self.stays)

    def least(self, panels: int) -> tuple[float, int]:
        """Cycles of the order that fetches least, and its loops around that over channels."""
        again, each_row = panels - 1, self.images * self.rows - 1
        orders = [
            (again * self._gone(self.image * self.images) * WINDOW_BYTE, 0),
            (self.images * again * self._gone(self.image) * WINDOW_BYTE
             + (self.images - 1) * self._gone(self.weights) * PANEL_BYTE, self.loops[0]),
            (each_row * self._gone(self.weights) * PASSING_BYTE, self.loops[1]),
        ]  # fmt: skip
        return min(orders, key=lambda order: order[0])

    def rows_of_weights(self, panels: int) -> float:
        """Cycles where columns are gathered, and each panel of them reads all weights."""
        return (self.images * panels - 1) * self._gone(self.weights) * ROW_BYTE


def can_be_direct(sch: Schedule, found: Contraction, form: MatrixForm) -> bool:
    """Whether the weights may be packed, and all variables have dimensions of their own."""
    if len(form.m) != 1 or found.store[-1] is not form.n[-1].var:
        return False
    dtypes = {found.output.dtype, found.lhs.buffer.dtype, found.rhs.buffer.dtype}
    if len(dtypes) != 1 or not found.output.dtype.is_float or found.output.dtype.bits < 32:
        return False
    if found.lhs.buffer not in free_buffers(sch):
        return False
    if not all(isinstance(index, Var) for index in (*found.store, *found.lhs.indices)):
        return False
    return not any(iv.var in found.lhs.indices for iv in form.outer)


def _tiles(cpu: CpuModel, bits: int, channels: int, columns: int) -> list[Tile]:
    """Tiles that divide channels and columns exactly."""
    lanes = cpu.lanes(bits)
    return [
        Tile(rows, vectors * lanes, 1, lanes)
        for vectors in range(1, MAX_VECTORS + 1)
        for rows in range(MIN_ROWS, MAX_ROWS + 1)
        if channels % (vectors * lanes) == 0 and columns % rows == 0
        and rows * vectors + vectors + 1 <= cpu.vector_registers
    ]  # fmt: skip


def transposed_at_once(columns: int, lanes: int) -> tuple[int, int]:
    """Columns and channels transposed at once in registers: a square, or the first rows of one."""
    most = min(16, lanes)
    rows = max(n for n in range(1, most + 1) if columns % n == 0)
    return rows, 1 << (rows - 1).bit_length()


def _is_stepped(node: Block, form: MatrixForm, found: Contraction) -> bool:
    """Whether neighbours in the result read elements apart from each other."""
    columns = columns_of(node, form, found.rhs)
    return columns is not None and columns[-1].step > 1


def schedule_direct(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    form: MatrixForm,
    direct: DirectForm,
    cpu: CpuModel,
    pending: Decompositions,
) -> str:
    """Tile the convolution; returns a sentence of reason."""
    tile = direct.tile
    channel, column_iv = form.m[0], form.n[-1]
    panel = sch.cache_read(block, found.lhs.read_index, "global")
    column = list(found.lhs.indices).index(channel.var)
    pack(sch, panel, [False] * len(found.lhs.indices), column, tile.columns)
    back, at = result_reader(sch, block), list(found.store).index(channel.var)
    if back is None:
        transposed = sch.cache_write(block, 0, "global")
    else:
        made, reads = sch.get(block).writes[0].buffer, sch.get(back).reads
        read_index = next(i for i, region in enumerate(reads) if region.buffer is made)
        transposed = sch.cache_read(back, read_index, "global")
    sch.transform_layout(block, ("write", 0), lambda *i: [*i[:at], *i[at + 1 :], i[at]])
    sums = sch.cache_write(block, 0, "local")
    node: Block = sch.get(block)
    loops = dict(zip([iv.var for iv in node.iter_vars], sch.get_loops(block)))
    lanes = min(tile.lanes, tile.columns)
    jo, jv, ji = sch.split(loops[channel.var], factors=[None, tile.columns // lanes, lanes])
    xo, xi = sch.split(loops[column_iv.var], factors=[None, tile.rows])
    outer = [loops[iv.var] for iv in (*form.outer, *form.n[:-1])]
    steps = [loops[iv.var] for iv in form.k]
    outside = [*outer[: direct.around], jo, *outer[direct.around :], xo]
    sch.reorder(*outside, *steps, xi, jv, ji)
    copies = [sums, transposed, *([] if back is None else [back])]
    for copy in copies:
        sch.reverse_compute_at(copy, xo)
    vectorize_back(sch, sums, xo, lanes)
    depth = len(outer) + 2
    _transpose(sch, transposed, sch.get_loops(transposed)[depth:], tile, len(form.n) - 1)
    if back is not None and len(sch.get_loops(back)) > depth:
        sch.vectorize(sch.get_loops(back)[-1])
    sch.vectorize(ji)
    sch.unroll(jv)
    sch.unroll(xi)
    pending.append((block, steps[0]))
    work = product_us(cpu, found.output.dtype.bits, form)
    spread = parallelize_by_cost(sch, outside, cpu, work, sch.get(block), heavy=True)
    spread = "serial, too little work for threads" if spread == "serial" else spread
    repeats = extent_of([*form.outer, *form.n][direct.around :])
    if repeats is not None:
        fetch_panels(sch, sch.get_loops(block)[0], repeats // tile.rows)
    return (
        f"{tile.rows}x{tile.columns} tile, channels along vectors: {tile.accumulators()} of "
        f"{cpu.vector_registers} vector registers hold sums, windows read in place"
        + (f", {ORDERS[direct.around > len(form.outer)]}" if direct.around else "") + f", {spread}"
    )


def _transpose(sch: Schedule, copy: BlockRV, loops: list[LoopRV], tile: Tile, gap: int) -> None:
    """Transpose a tile in registers; `gap` dimensions are between its two."""
    rows, size = transposed_at_once(tile.rows, tile.lanes)
    channels, columns = loops
    if rows == 1:
        sch.unroll(columns)
        return
    fo, fi = sch.split(channels, factors=[None, size])
    xo, xi = sch.split(columns, factors=[None, rows])
    sch.reorder(fo, xo, fi, xi)
    sch.unroll(xo)
    sch.unroll(fo)
    dtype = str(sch.get(copy).writes[0].buffer.dtype)
    sch.tensorize(fi, transposition(size, dtype, 0, gap, rows))
