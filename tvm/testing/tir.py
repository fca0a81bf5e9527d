"""Schedules of matrix products for the matrix units of GPUs, in the form that tests share.

    C[i, j] += A[i, k] * B[k, j]        (B[j, k] where B is transposed)

One tile of 16 x 16 x k_inner is what an instruction multiplies. The factors split what remains:

    i, j -> (blockIdx.x, blockIdx.y, threadIdx.y, tiles of a warp, order within)
    k    -> (steps through shared memory, loads into registers, order within)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tvm.ir.module import IRModule
from tvm.tir.function import PrimFunc
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

Layout = IndexMap | Callable[..., Any]
_TILE: Final = 16


class _Machine(NamedTuple):
    """What differs between vendors."""

    warp_size: int
    shifts_rows: bool  # rows of shared memory start in different banks


class _Product(NamedTuple):
    """The layouts of the operands in registers, and the instructions by their intrinsics."""

    layouts: tuple[Layout, Layout, Layout]
    load_a: str
    load_b: str
    multiply: str
    fill: str
    store: str


def mma_schedule(
    workload: PrimFunc,
    k_inner: int,
    in_dtype: str,
    b_transposed: bool,
    i_factors: Sequence[int],
    j_factors: Sequence[int],
    k_factors: Sequence[int],
    index_map_A: Layout,
    index_map_B: Layout,
    index_map_C: Layout,
    ldmatrix_a_intrin: str,
    ldmatrix_b_intrin: str,
    mma_intrin: str,
    mma_fill_intrin: str,
    mma_store_intrin: str,
    shared_scope: str = "shared",
) -> Schedule:
    """The schedule of a matrix product for the MMA instructions of NVIDIA."""
    product = _Product(
        (index_map_A, index_map_B, index_map_C), ldmatrix_a_intrin, ldmatrix_b_intrin, mma_intrin,
        mma_fill_intrin, mma_store_intrin,
    )  # fmt: skip
    builder = _Builder(workload, k_inner, in_dtype, shared_scope, _Machine(32, True))
    return builder.run(b_transposed, (i_factors, j_factors, k_factors), product)


def mfma_schedule(
    workload: PrimFunc,
    k_inner: int,
    in_dtype: str,
    b_transposed: bool,
    i_factors: Sequence[int],
    j_factors: Sequence[int],
    k_factors: Sequence[int],
    index_map_A: Layout,
    index_map_B: Layout,
    index_map_C: Layout,
    ldmatrix_a_intrin: str,
    ldmatrix_b_intrin: str,
    mfma_intrin: str,
    mfma_fill_intrin: str,
    mfma_store_intrin: str,
    shared_scope: str = "shared",
) -> Schedule:
    """The schedule of a matrix product for the MFMA instructions of AMD."""
    product = _Product(
        (index_map_A, index_map_B, index_map_C), ldmatrix_a_intrin, ldmatrix_b_intrin, mfma_intrin,
        mfma_fill_intrin, mfma_store_intrin,
    )  # fmt: skip
    builder = _Builder(workload, k_inner, in_dtype, shared_scope, _Machine(64, False))
    return builder.run(b_transposed, (i_factors, j_factors, k_factors), product)


class _Builder:
    """One schedule under construction."""

    def __init__(
        self, workload: PrimFunc, k_inner: int, in_dtype: str, shared_scope: str, machine: _Machine
    ) -> None:
        self.sch: Final = Schedule(IRModule({"main": workload}))
        self.k_inner: Final = k_inner
        self.in_dtype: Final = in_dtype
        self.shared_scope: Final = shared_scope
        self.machine: Final = machine

    def run(
        self, b_transposed: bool, factors: tuple[Sequence[int], ...], product: _Product
    ) -> Schedule:
        """All steps in order."""
        sch = self.sch
        inner = sch.get_block("C")
        outer, loops = self._cut_tiles(inner)
        step, load, warp = self._bind(loops, factors)
        warps = factors[0][2] * factors[1][2]
        for operand in (0, 1):
            self._through_shared(outer, operand, step, warps)
        a, b = (sch.cache_read(outer, operand, "warp") for operand in (0, 1))
        for block in (a, b):
            sch.compute_at(block, load)
        c = sch.cache_write(outer, 0, "warp")
        sch.reverse_compute_at(c, warp)
        rows = self._tile_rows(c, _TILE, _TILE)
        sch.decompose_reduction(outer, sch.get_loops(outer)[3])
        a_rows = self._tile_rows(a, _TILE, self.k_inner)
        b_shape = (_TILE, self.k_inner) if b_transposed else (self.k_inner, _TILE)
        b_rows = self._tile_rows(b, *b_shape)
        for block, side, layout in zip((a, b, c), ("write", "write", "read"), product.layouts):
            sch.transform_layout(block, (side, 0), layout)
        sch.tensorize(a_rows, product.load_a)
        sch.tensorize(b_rows, product.load_b)
        sch.tensorize(sch.get_loops(inner)[-3], product.multiply)
        sch.tensorize(sch.get_loops(sch.get_block("C_init"))[-2], product.fill)
        sch.tensorize(rows, product.store)
        return sch

    def _cut_tiles(self, inner: BlockRV) -> tuple[BlockRV, list[LoopRV]]:
        """A block around what one instruction multiplies, and the loops over such blocks."""
        sizes = (_TILE, _TILE, self.k_inner)
        parts = [
            self.sch.split(loop, [None, size])
            for loop, size in zip(self.sch.get_loops(inner), sizes)
        ]
        around, within = [part[0] for part in parts], [part[1] for part in parts]
        self.sch.reorder(*around, *within)
        return self.sch.blockize(within[0]), around

    def _bind(
        self, loops: Sequence[LoopRV], factors: tuple[Sequence[int], ...]
    ) -> tuple[LoopRV, LoopRV, LoopRV]:
        """Spread tiles over blocks and warps; the loops of k's two levels, and that of warps."""
        sch = self.sch
        i, j, k = (sch.split(loop, list(f)) for loop, f in zip(loops, factors))
        sch.reorder(
            i[0], j[0], i[1], j[1], j[2], i[2], k[0], k[1], i[3], j[3], k[2], i[4], j[4]
        )
        sch.bind(sch.fuse(i[0], j[0]), "blockIdx.x")
        sch.bind(sch.fuse(i[1], j[1]), "blockIdx.y")
        warp = sch.fuse(j[2], i[2])
        sch.bind(warp, "threadIdx.y")
        return k[0], k[1], warp

    def _through_shared(self, outer: BlockRV, operand: int, step: LoopRV, warps: int) -> None:
        """An operand comes to shared memory, sixteen or eight values a thread at once."""
        sch = self.sch
        copied = sch.cache_read(outer, operand, self.shared_scope)
        sch.compute_at(copied, step)
        whole = sch.fuse(*sch.get_loops(copied)[-2:])
        lanes = 16 if self.in_dtype == "int8" else 8
        _, y, x, vector = sch.split(whole, [None, warps, self.machine.warp_size, lanes])
        sch.bind(x, "threadIdx.x")
        sch.bind(y, "threadIdx.y")
        sch.vectorize(vector)
        if self.machine.shifts_rows:
            offset = 8 if self.in_dtype == "float16" else 16
            sch.storage_align(copied, 0, axis=-2, factor=32, offset=offset)

    def _tile_rows(self, block: BlockRV, height: int, width: int) -> LoopRV:
        """The loop over the rows of one tile, after the last two loops became loops of tiles."""
        rows, cols = self.sch.get_loops(block)[-2:]
        row_tiles, row = self.sch.split(rows, [None, height])
        col_tiles, col = self.sch.split(cols, [None, width])
        self.sch.reorder(row_tiles, col_tiles, row, col)
        return row
