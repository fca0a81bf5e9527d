"""Products of matrices of small numbers in the tile registers of x86 processors (AMX).

    for mo, jo, io in M / MB, N / NR, MB / MR:               # MB rows of A stay in the L2 cache
        tiles = 0                                            # MR x NR sums: up to four registers
        for ko in K / KR:
            tiles += A[io * MR :, ko * KR :] * W[jo, ko * KR :, :, :]
        S = tiles                                            # in the L1 cache
        C[io * MR + i, jo * NR + j] = epilogue(S[i, j])

A register takes 16 rows of 64 bytes, and an instruction multiplies two of them in 16 cycles: eight
times as many bytes a cycle as VPDPBUSD (Intel 64 and IA-32 Architectures Optimization Reference
Manual, chapter 20). `W` lies as for the instructions of `dots`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.dlight.analysis.contraction import Contraction
from tvm.dlight.base import pad_operands
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.tensor_intrin.amx_tiles import (
    COLUMNS,
    MAX_ROWS,
    Tiles,
    group_of,
    register_tiles,
)
from tvm.tir.transform.configure_tiles import TILES

from .contraction import (
    MatrixForm,
    extent_of,
    operand_of,
    order_roles,
    require_two_tensors,
    result_reader,
    to_matrix,
)
from .cost import CYCLES_PER_US, SYMBOLIC, parallelize_by_cost
from .dot_operands import groups_of_rows, panels_of
from .dots_direct import factors_of, loaded_buffer
from .gemm import matrix_form

_FEATURES: Final = {"int8": "amx-int8", "uint8": "amx-int8", "bfloat16": "amx-bf16"}
_USED: Final = 0.6   # of the instructions' speed, as measured
_OTHERS: Final = 0.75
_RESULT: Final = 3.0  # cycles for each row of a register of sums to be stored and read again


def has_tiles(target: Target, found: Contraction) -> bool:
    """Whether the target multiplies what a contraction multiplies in tiles.

    Programs have to ask the system for the registers, and only Linux is asked.
    """
    kinds = {str(side.buffer.dtype) for side in (found.lhs, found.rhs)}
    needed = {_FEATURES.get(kind) for kind in kinds}
    linux = "linux" in str(target.attrs.get("mtriple", ""))
    return linux and len(needed) == 1 and needed <= target.cpu.features


def choose_tiles(m: int | None, n: int | None, k: int, group: int) -> tuple[Tiles, float]:
    """The tiles with the least modelled time for a matrix, and its cycles; None is any extent."""
    groups = -(-k // group)
    steps = -(-groups // 16)
    best: tuple[float, Tiles] | None = None
    for rows in range(1, min(MAX_ROWS, m or MAX_ROWS) + 1):
        for high, wide in ((2, 2), (1, 4), (1, 3), (1, 2), (2, 1), (1, 1)):
            tiles = Tiles(rows, high, wide, -(-groups // steps))
            count = -(-(m or 256) // (rows * high)) * -(-(n or 256) // (wide * COLUMNS))
            cost = count * tile_cycles(tiles, steps)
            if best is None or cost < best[0] * (1 - 1e-9):
                best = cost, tiles
    assert best is not None, "one tile always fits"
    return best[1], best[0]


def tile_cycles(tiles: Tiles, steps: int) -> float:
    """Modelled cycles for so many steps along the sum of one set of sums."""
    lines = tiles.high * tiles.rows + tiles.wide * tiles.groups
    products = tiles.high * tiles.wide * tiles.rows
    return steps * max(products, lines) / _USED + products * _RESULT


def worth_tiles(cpu: CpuModel, cycles: float, work: float, group: int) -> bool:
    """Whether tiles are faster than instructions for vectors, for so many multiplications."""
    words = group if "avx512vnni" in cpu.features or group == 2 else 2
    return cycles < work / (cpu.lanes(32) * words * cpu.fma_ports * _OTHERS)


def matrix_tiles(target: Target, found: Contraction) -> Tiles | None:
    """The tiles of a product of matrices; None where vectors are as good."""
    if not has_tiles(target, found):
        return None
    roles = matrix_form(found)
    m, n, k = extent_of(roles.m), extent_of(roles.n), extent_of(roles.k)
    kinds = {iv.var.dtype for part in (roles.m, roles.n, roles.k) for iv in part}
    if k is None or m == 1 or len(kinds) > 1:
        return None
    group = group_of(str(found.lhs.buffer.dtype))
    tiles, cycles = choose_tiles(m, n, k, group)
    work = float((m or 256) * (n or 256) * k)
    return tiles if worth_tiles(target.cpu, cycles, work, group) else None


def in_tiles(
    sch: Schedule, block: BlockRV, found: Contraction, tiles: Tiles, cpu: CpuModel
) -> tuple[str, Callable[[], None]]:
    """Tile a product; returns the reason, and what is left to do when all blocks have loops."""
    require_two_tensors(found)
    one, many = str(found.lhs.buffer.dtype), str(found.rhs.buffer.dtype)
    group, columns, high = group_of(one), tiles.wide * COLUMNS, tiles.high * tiles.rows
    roles = matrix_form(found)
    cycles = _cycles(roles, tiles, group)
    gathers: list[BlockRV] = []
    if roles.is_matrix():
        order_roles(sch, block, roles)
    else:
        gathers = to_matrix(sch, block, found, roles)
    outer = len(roles.outer)
    m, n, k = (extent_of([iv]) for iv in sch.get(block).iter_vars[outer : outer + 3])
    assert k is not None, "looked at before"
    pads = [
        high if m is None or m % high else 1, columns if n is None or n % columns else 1,
        tiles.groups * group if k % (tiles.groups * group) else 1,
    ]  # fmt: skip
    copies = pad_operands(sch, block, [1] * outer + pads) if pads != [1, 1, 1] else []
    copies = _gathered_once(sch, gathers, copies)
    groups_of_rows(sch, block, outer, copies)
    swapped = operand_of(sch, block, sch.get(block).iter_vars[outer].var).buffer is not (
        loaded_buffer(factors_of(sch.get(block))[0])
    )
    panel, packed = panels_of(sch, block, outer, group, columns, copies)
    results = sch.cache_write(block, 0, "local")
    back = result_reader(sch, results)
    loops = sch.get_loops(block)
    # rows of any number all go by for each panel of columns
    factors: list[PrimExpr | int | None] = [1, None, high]
    if m is not None:
        factors = [None, _rows_near(cpu, -(-m // high), high * k * (4 // group)), high]
    mo, io, ii = sch.split(loops[outer], factors=factors)
    jo, ji = sch.split(loops[outer + 1], factors=[None, columns])
    ko, ku, ki = sch.split(loops[outer + 2], factors=[None, tiles.groups, group])
    sch.reorder(*loops[:outer], mo, jo, io, ko, ku, ii, ji, ki)
    if not packed:
        sch.compute_at(panel, jo)
    sch.reverse_compute_at(results, io)
    if back is not None:
        sch.reverse_compute_at(back, io)
        _, lanes = sch.split(sch.get_loops(back)[-1], factors=[None, cpu.lanes(32)])
        sch.vectorize(lanes)
    work = cycles / CYCLES_PER_US
    around = [*loops[:outer], mo, jo]
    spread = parallelize_by_cost(sch, around, cpu, work, sch.get(block), heavy=True)
    sch.annotate(sch.get_loops(block)[0], TILES, tiles.words())
    index = str(sch.get(io).loop_var.dtype)
    names = register_tiles(one, many, tiles, swapped, index)

    def finish() -> None:
        init = sch.decompose_reduction(block, ko)
        for loop, name in zip((sch.get_loops(init)[-2], ku, sch.get_loops(results)[-2]), names):
            sch.tensorize(loop, name)

    return _reason(tiles, packed, spread), finish


def _gathered_once(
    sch: Schedule, gathers: list[BlockRV], copies: list[BlockRV]
) -> list[BlockRV]:
    """Gather an operand into the copy that is made of it anyway; the copies of operands."""
    made = list(copies)
    for gather in gathers:
        users = {sch.get_sref(user) for user in sch.get_consumers(gather)}
        if any(sch.get_sref(copy) in users for copy in copies):
            sch.compute_inline(gather)
        else:
            made.append(gather)
    return made


def _rows_near(cpu: CpuModel, count: int, nbytes: int) -> int:
    """How many tiles of rows, of so many bytes each, go by for every panel of columns."""
    fit = max(1, cpu.l2_bytes // 2 // nbytes)
    return max(n for n in range(1, min(fit, count) + 1) if count % n == 0)


def _cycles(roles: MatrixForm, tiles: Tiles, group: int) -> float:
    """Modelled cycles of a product, with a guess for open extents."""
    outer, m, n, k = (
        extent_of(part) or SYMBOLIC for part in (roles.outer, roles.m, roles.n, roles.k)
    )
    steps = -(-k // (group * tiles.groups))
    count = -(-m // (tiles.rows * tiles.high)) * -(-n // (tiles.wide * COLUMNS))
    return outer * count * tile_cycles(tiles, steps)


def _reason(tiles: Tiles, packed: bool, spread: str) -> str:
    rows = f"{tiles.high}x{tiles.wide} tile registers of {tiles.rows}x{COLUMNS} sums"
    return ", ".join([
        rows, "columns packed " + ("beforehand" if packed else "into a panel"),
        "serial, too little work for threads" if spread == "serial" else spread,
    ])  # fmt: skip
