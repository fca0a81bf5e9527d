"""Products of matrices of small numbers by instructions that sum groups of products.

    for jo in N / NR:
        for io in M / MR:
            acc[MR, NR] = 0                                      # 32-bit sums in vector registers
            for ko in K / 4:
                acc[i, :] += dot4(A[io * MR + i, ko * 4 : ko * 4 + 4], W[jo, ko, :, 0 : 4])
            C[io * MR + i, jo * NR + j] = epilogue(acc[i, j])

`W` holds four numbers of one column side by side; weights that are constants are laid out so while
compiling. Sums of integers are exact: where there is no instruction for four bytes, they are
widened to 16 bits and multiplied by pairs. Products of bfloat16 are summed in float32, by pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import open_schedule, pad_operands
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.expr import Add, BufferLoad, Cast, Mul, Var
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferStore
from tvm.tir.tensor_intrin.dot_kinds import DOTS, Dot, register_dot

from .base import CPUScheduleRule, root_blocks, with_reason
from .contraction import (
    MatrixForm,
    extent_of,
    operand_of,
    order_roles,
    require_two_tensors,
    to_matrix,
    vectorize_back,
    write_back,
)
from .cost import flops_us, parallelize_by_cost
from .dot_operands import groups_of_rows, panels_of
from .dots_direct import direct, factors_of, finish_dots, fitting_form, loaded_buffer, slides
from .edges import read_last_row_again
from .gemm import is_gemm, matrix_form
from .general import Unscheduled, inline_epilogues
from .tile_products import in_tiles, matrix_tiles
from .tiles import choose_tile

_BYTES: Final = ("int8", "uint8")


class DotProducts(CPUScheduleRule):
    """Schedules functions with a product of matrices of 8-bit or 16-bit integers, or bfloat16."""

    def is_target_available(self, target: Target) -> bool:
        """True for code that LLVM makes for a CPU: the instructions have LLVM's names."""
        return super().is_target_available(target) and target.kind.traits.machine_code

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is such a product or the CPU has no instruction."""
        sch = open_schedule(func)
        if not any(_product(sch, block, target.cpu) for block in root_blocks(sch)):
            return None
        inline_epilogues(sch)
        unscheduled = Unscheduled(sch)
        made: list[Callable[[], None]] = []
        reasons: list[str] = []
        for block, sref in [(block, sch.get_sref(block)) for block in root_blocks(sch)]:
            inlined = sref.stmt is None  # into what a product stores
            found = None if inlined else _product(sch, block, target.cpu)
            if found is not None:
                contraction, form = found
                tiles = None if slides(contraction) else matrix_tiles(target, contraction)
                if tiles is not None:
                    reason, finish = in_tiles(sch, block, contraction, tiles, target.cpu)
                else:
                    tiled = direct if slides(contraction) else _tiled
                    reason, outer, inner, name = tiled(sch, block, contraction, form, target.cpu)
                    finish = partial(finish_dots, sch, block, outer, inner, name)
                made.append(finish)
                reasons.append(reason)
                unscheduled.done(block)
        unscheduled.schedule(target.cpu)
        for finish in made:
            finish()
        return with_reason(sch, "; ".join(reasons))


def _product(sch: Schedule, block: BlockRV, cpu: CpuModel) -> tuple[Contraction, str] | None:
    """The product that a block is, each variable bound to a loop of its own, and how to make it."""
    found = find_contraction(sch.get(block))
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    if found is None or not all(isinstance(v, Var) for v in values):
        return None
    form = dot_form(cpu, str(found.lhs.buffer.dtype), str(found.rhs.buffer.dtype))
    if form is None or str(found.output.dtype) != DOTS[form].sums:
        return None
    if slides(found):
        form = fitting_form(sch, found, form)
    elif not is_gemm(found) or not matrix_form(found).m or not _sums_both(found):
        return None
    if form is None:
        return None
    return (found, form) if _widened_alone(sch.get(block), DOTS[form].sums) else None


def _sums_both(found: Contraction) -> bool:
    """Whether both factors have a dimension for each step of the sum; else there are no groups."""
    return all(
        any(index is iv.var for index in side.indices)
        for iv in matrix_form(found).k for side in (found.lhs, found.rhs)
    )  # fmt: skip


def dot_form(cpu: CpuModel, one: str, many: str) -> str | None:
    """The instruction for groups of `one` by vectors of `many`; None if there is none."""
    has = cpu.features
    kinds = {one, many}
    if cpu.arch == "aarch64":
        mixed = "usdot" if "i8mm" in has else None
        plain = {"int8": "sdot", "uint8": "udot"}.get(one) if one == many else mixed
        return plain if "dotprod" in has and kinds <= set(_BYTES) else None
    if cpu.arch == "x86_64" and kinds == {"bfloat16"}:
        return "bf16" if cpu.vector_bits == 512 and "avx512bf16" in has else None
    if cpu.arch != "x86_64" or not kinds <= {*_BYTES, "int16"}:
        return None
    wide = cpu.vector_bits == 512 and "avx512bw" in has
    fused = "avx512vnni" in has or "avxvnni" in has
    if fused and kinds == set(_BYTES):
        return "vnni512" if wide else "vnni256"
    if wide:
        return "words512" if fused else "avx512"
    if fused:
        return "words256"
    return "avx2" if "avx2" in has else "sse2"


def _widened_alone(block: Block, dtype: str) -> bool:
    """Whether each factor is widened on its own, as the instructions do."""
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return False
    product = store.value.b
    return isinstance(product, Mul) and all(
        isinstance(side, Cast) and side.dtype == dtype and isinstance(side.value, BufferLoad)
        for side in (product.a, product.b)
    )


def _tiled(
    sch: Schedule, block: BlockRV, found: Contraction, form: str, cpu: CpuModel
) -> tuple[str, LoopRV, LoopRV, str]:
    """Tile a product; returns the reason, where sums begin, what to tensorize and by what."""
    dot = DOTS[form]
    require_two_tensors(found)
    roles = matrix_form(found)
    m, n, k = extent_of(roles.m), extent_of(roles.n), extent_of(roles.k)
    gathers: list[BlockRV] = []
    if roles.is_matrix():
        order_roles(sch, block, roles)
    else:
        gathers = to_matrix(sch, block, found, roles)
    steps = None if k is None else -(-k // dot.group)
    tile = choose_tile(cpu, 32, m, n, steps)
    outer = len(roles.outer)
    columns = -(-tile.columns // dot.lanes) * dot.lanes
    pads = [
        tile.rows if m is None or m % tile.rows else 1,
        columns if n is None or n % columns else 1,
        dot.group if k is None or k % dot.group else 1,
    ]
    copies: list[BlockRV] = []
    if pads != [1, 1, 1]:
        copies = pad_operands(sch, block, [1] * outer + pads)
    row, column = (sch.get(block).iter_vars[outer + i].var for i in range(2))
    if pads[2] == 1:
        copies = read_last_row_again(sch, copies, operand_of(sch, block, row).buffer)
    for gather in gathers:
        sch.compute_inline(gather)
    groups_of_rows(sch, block, outer, copies)
    back = write_back(sch, block)
    panel, packed = panels_of(sch, block, outer, dot.group, columns, copies)
    one, many = operand_of(sch, block, row).buffer, operand_of(sch, block, column).buffer
    swapped = operand_of(sch, block, row).buffer is not loaded_buffer(factors_of(sch.get(block))[0])
    loops = sch.get_loops(block)
    io, ii = sch.split(loops[outer], factors=[None, tile.rows])
    jo, jv, ji = sch.split(loops[outer + 1], factors=[None, columns // dot.lanes, dot.lanes])
    ko, ku, ki = sch.split(loops[outer + 2], factors=[None, tile.unroll, dot.group])
    sch.reorder(*loops[:outer], jo, io, ko, ku, ii, jv, ji, ki)
    if not packed:
        sch.compute_at(panel, jo)
    sch.reverse_compute_at(back, io)
    vectorize_back(sch, back, io, dot.lanes)
    for loop in (jv, ii, ku):
        sch.unroll(loop)
    work = _microseconds(cpu, roles, dot, columns)
    spread = parallelize_by_cost(sch, [*loops[:outer], jo], cpu, work, sch.get(block), heavy=True)
    name = register_dot(form, str(one.dtype), str(many.dtype), swapped)
    return _reason(form, dot, tile.rows, columns, packed, spread), ko, ji, name


def _microseconds(cpu: CpuModel, roles: MatrixForm, dot: Dot, columns: int) -> float:
    work = 2.0
    for part in (roles.outer, roles.m, roles.n, roles.k):
        size = extent_of(part)
        guess = columns if part is roles.n else 8
        work *= guess if size is None else size
    return flops_us(cpu, work / dot.group, 32)


def _reason(form: str, dot: Dot, rows: int, columns: int, packed: bool, spread: str) -> str:
    parts = [
        f"{rows}x{columns} tile of 32-bit sums, groups of {dot.group} products by "
        f"{dot.name.removeprefix('llvm.')}",
        "columns packed " + ("beforehand" if packed else "into a panel"),
        "serial, too little work for threads" if spread == "serial" else spread,
    ]
    return ", ".join(parts)
