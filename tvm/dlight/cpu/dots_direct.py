"""Convolutions of small numbers, channels last, by instructions that sum groups of products.

    for jo in O / NR, n, y:
        for xo in X / MR:
            acc[MR, NR] = 0                                      # 32-bit sums in vector registers
            for ky, kx, co in C / 4:
                acc[i, :] += dot4(A[n, y * s + ky, (xo * MR + i) * s + kx, co * 4 : co * 4 + 4],
                                  W[jo, ky, kx, co, :, 0 : 4])
            B[n, y, xo * MR + i, jo * NR + j] = epilogue(acc[i, j])

Nothing is gathered: the channels of a pixel are the group, and a row of the result is the tile. `W`
is laid out while compiling. The border is in `A` already. Where the sizes of planes are open, all
pixels of the result are one row, and past its end the last one is computed again.
"""

from __future__ import annotations

from typing import Final

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import pad_operands
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, Cast, Mul, Var
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferStore
from tvm.tir.tensor_intrin.dot_kinds import DOTS, register_dot

from .contraction import extent_of, operand_of, to_rows, vectorize_back, write_back
from .cost import SYMBOLIC, flops_us, parallelize_by_cost
from .edges import read_last_row_again
from .tiles import MAX_ROWS, MAX_VECTORS, Tile, tile_cost
from .weights import free_buffers, pack_before

# The same products in half a vector, where filters do not fill a whole one.
_HALF: Final = {"vnni512": "vnni256", "words512": "words256", "avx512": "avx2", "avx2": "sse2"}
OPEN_ROWS: Final = 8  # pixels of a tile where each has an address of its own


def slides(found: Contraction) -> bool:
    """Whether the indices of one operand are sums: a window over images."""
    return not found.lhs.is_plain()


def fitting_form(sch: Schedule, found: Contraction, form: str) -> str | None:
    """The form whose groups the channels fill, and whose vectors the filters do; or None."""
    last = found.rhs.innermost()
    weights = found.rhs.is_plain() and found.rhs.buffer in free_buffers(sch)
    if not weights or last is None or found.lhs.innermost() is not last:
        return None
    extents = {iv.var: extent_of([iv]) for iv in (*found.m, *found.n, *found.k)}
    if found.batch or len(found.n) != 1 or found.store[-1] is not found.n[0].var:
        return None
    row, channels, filters = _row(found), extents.get(last), extents[found.n[0].var]
    if row is None or channels is None or filters is None or extent_of(found.k) is None:
        return None
    while filters % DOTS[form].lanes:
        if form not in _HALF:
            return None
        form = _HALF[form]
    return form if channels % DOTS[form].group == 0 else None


def _row(found: Contraction) -> tuple[Var, int | None] | None:
    """The variable along a row of the result, and its extent if it is known."""
    var = found.store[-2]
    row = next((iv for iv in found.m if iv.var is var), None)
    return None if row is None else (row.var, extent_of([row]))


def _tile(cpu: CpuModel, lanes: int, row: int | None, filters: int) -> Tile:
    """Rows and vectors that divide the result, with the least modelled time."""
    best: tuple[float, Tile] | None = None
    for vectors in range(MAX_VECTORS, 0, -1):
        for rows in range(min(MAX_ROWS, row or OPEN_ROWS), 0, -1):
            fits = rows * vectors + vectors + 1 <= cpu.vector_registers
            if (row or 0) % rows or filters % (vectors * lanes) or not fits:
                continue
            tile = Tile(rows, vectors * lanes, 1, lanes)
            cost = tile_cost(cpu, tile)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, tile)
    assert best is not None, "one row and one vector always fit"
    return best[1]


def direct(
    sch: Schedule, block: BlockRV, found: Contraction, form: str, cpu: CpuModel
) -> tuple[str, LoopRV, LoopRV, str]:
    """Tile a convolution; returns the reason, where sums begin, what to tensorize and by what."""
    dot, row = DOTS[form], _row(found)
    filters = extent_of(found.n)
    assert row is not None, "looked at before"
    assert filters is not None, "and so are filters"
    tile = _tile(cpu, dot.lanes, row[1], filters)
    work = _microseconds(cpu, found, dot.group)
    if row[1] is None:
        found = _one_row(sch, block, found, tile.rows)
        row = found.m[0].var, None
    loops = loops_of(sch, block)
    last = found.rhs.innermost()
    assert last is not None, "channels"
    taps = [loops[iv.var] for iv in found.k if iv.var is not last]
    images = [loops[iv.var] for iv in found.m if iv.var is not row[0]]
    _pack(sch, block, found, dot.group, tile.columns)
    one, many = str(found.lhs.buffer.dtype), str(found.rhs.buffer.dtype)
    swapped = found.lhs.buffer is not loaded_buffer(factors_of(sch.get(block))[0])
    back = write_back(sch, block)
    xo, xi = sch.split(loops[row[0]], factors=[None, tile.rows])
    vectors = tile.columns // dot.lanes
    jo, jv, ji = sch.split(loops[found.n[0].var], factors=[None, vectors, dot.lanes])
    co, ci = sch.split(loops[last], factors=[None, dot.group])
    sch.reorder(jo, *images, xo, *taps, co, xi, jv, ji, ci)
    sch.reverse_compute_at(back, xo)
    vectorize_back(sch, back, xo, dot.lanes)
    for loop in (jv, xi):
        sch.unroll(loop)
    outer = [jo, *images] if images else [jo, xo]
    spread = parallelize_by_cost(sch, outer, cpu, work, sch.get(block), heavy=True)
    name = register_dot(form, one, many, swapped)
    reason = (
        f"direct: {tile.rows}x{tile.columns} tile of 32-bit sums along a row of the result, groups "
        f"of {dot.group} channels by {dot.name.removeprefix('llvm.')}, weights packed beforehand, "
        + ("serial, too little work for threads" if spread == "serial" else spread)
    )
    return reason, (taps or [co])[0], ji, name


def _one_row(sch: Schedule, block: BlockRV, found: Contraction, rows: int) -> Contraction:
    """Let all pixels be one row, in whole tiles; the contraction that it is now."""
    gather = to_rows(sch, block, found)
    node: Block = sch.get(block)
    copies = pad_operands(sch, block, [rows, *(1 for _ in node.iter_vars[1:])])
    pixel = sch.get(block).iter_vars[0].var
    read_last_row_again(sch, copies, operand_of(sch, block, pixel).buffer)
    sch.compute_inline(gather)
    again = find_contraction(sch.get(block))
    assert again is not None, "it was one before"
    return again


def loops_of(sch: Schedule, block: BlockRV) -> dict[Var, LoopRV]:
    """The loop of each variable of a block."""
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    loops = {sch.get(loop).loop_var: loop for loop in sch.get_loops(block)}
    node: Block = sch.get(block)
    return {iv.var: loops[v] for iv, v in zip(node.iter_vars, values) if isinstance(v, Var)}


def _pack(sch: Schedule, block: BlockRV, found: Contraction, group: int, columns: int) -> None:
    """Let weights lie as they are read: panels of filters, within these taps and groups."""
    panel = sch.cache_read(block, found.rhs.read_index, "global")
    filters = next(i for i, index in enumerate(found.rhs.indices) if index is found.n[0].var)

    def panels(*at: PrimExpr) -> list[PrimExpr]:
        taps = [index for i, index in enumerate(at[:-1]) if i != filters]
        return [
            at[filters] // columns, *taps, at[-1] // group, at[filters] % columns, at[-1] % group
        ]  # fmt: skip

    sch.transform_layout(panel, ("write", 0), panels)
    node: Block = sch.get(panel)
    if len(node.iter_vars) == len(node.writes[0].buffer.shape) - 2:
        sch.transform_block_layout(panel, panels)
    pack_before(sch, panel)


def _microseconds(cpu: CpuModel, found: Contraction, group: int) -> float:
    work = 2.0
    for iv in (*found.m, *found.n, *found.k):
        work *= extent_of([iv]) or SYMBOLIC
    return flops_us(cpu, work / group, 32)


def factors_of(block: Block) -> tuple[PrimExpr, PrimExpr]:
    """The two factors of the products that a contraction sums."""
    store = block.body
    assert isinstance(store, BufferStore), "a contraction is one store"
    assert isinstance(store.value, Add), "and that of a sum"
    assert isinstance(store.value.b, Mul), "of products"
    return store.value.b.a, store.value.b.b


def loaded_buffer(factor: PrimExpr) -> Buffer:
    """The buffer that a factor is read from."""
    while isinstance(factor, Cast):
        factor = factor.value
    assert isinstance(factor, BufferLoad), "looked at before"
    return factor.buffer


def finish_dots(sch: Schedule, block: BlockRV, outer: LoopRV, inner: LoopRV, name: str) -> None:
    """Initialize sums with zero, and replace the inner loops by the instruction."""
    init = sch.decompose_reduction(block, outer)
    *_, rows, vectors, lanes = sch.get_loops(init)
    sch.vectorize(lanes)
    sch.unroll(vectors)
    sch.unroll(rows)
    sch.tensorize(inner, name)
