"""How long a kernel takes, roughly, and over how many threads it is worth spreading."""

from __future__ import annotations

import math

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import IntImm, Mul
from tvm.tir.functor import substitute, vars_in
from tvm.tir.schedule import LoopRV, Schedule, ScheduleError
from tvm.tir.stmt import Block, For
from tvm.tir.transform.parallel_tasks import GRAIN as GRAIN

# A parallel region costs a few microseconds; a thread should have several times as much to do.
MIN_US = 20.0
CYCLES_PER_US = 2500.0
BYTES_PER_CYCLE = 8.0


def flops_us(cpu: CpuModel, flops: float, bits: int = 32) -> float:
    """Microseconds of one core for so many additions and multiplications, at 70 % of the peak."""
    return flops / (2 * cpu.lanes(bits) * cpu.fma_ports * 0.7) / CYCLES_PER_US


def bytes_us(size: float) -> float:
    """Microseconds of one core to move so many bytes from and to the outer caches."""
    return size / BYTES_PER_CYCLE / CYCLES_PER_US


def threads_for(cpu: CpuModel, microseconds: float) -> int:
    """How many threads the work is worth; 1 means serial."""
    return max(1, min(cpu.cores, int(microseconds / MIN_US)))


# What a symbolic extent counts as: mostly a batch, and mostly a small one.
SYMBOLIC = 8
INNER_ROUNDS = 256  # of loops within a parallel one of symbolic extent
ROW = 64  # the same of one within an iteration: the length of a row


def parallelize_by_cost(
    sch: Schedule,
    loops: list[LoopRV],
    cpu: CpuModel,
    microseconds: float,
    node: Block,
    heavy: bool = False,
) -> str:
    """Make the loops one parallel loop where that pays; returns words for the reason.

    Where the number of iterations is known only when the program runs, so is that of threads.
    Rounds that are `heavy` are shared out even if they are few.
    """
    loops = _worth_fusing(sch, loops, heavy)
    loop = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    around: For = sch.get(loop)
    known = isinstance(around.extent, IntImm)
    threads = threads_for(cpu, microseconds) if known else cpu.cores
    if threads == 1:
        return "serial"
    try:
        sch.parallel(loop)
    except ScheduleError:
        return "serial"  # a loop whose rounds are not known to be apart from each other
    if known:
        return f"{threads} threads"
    rows = sum(
        iv.dom is not None and not isinstance(iv.dom.extent, IntImm) for iv in node.iter_vars
    ) - _symbols(around.extent)
    each = microseconds / _guess(around.extent) * (ROW / SYMBOLIC) ** max(rows, 0)
    grain = math.ceil(MIN_US / each)
    if grain > 1:
        sch.annotate(loop, GRAIN, grain)
    return f"a thread for every {grain} rounds"


def _worth_fusing(sch: Schedule, loops: list[LoopRV], heavy: bool) -> list[LoopRV]:
    """The loops to fuse: all, or only the outer ones if sizes are symbolic, to avoid divisions."""
    nodes: list[For] = [sch.get(loop) for loop in loops]
    if len({node.loop_var.dtype for node in nodes}) > 1:
        return loops[:1]
    known = [isinstance(node.extent, IntImm) for node in nodes]
    if all(known):
        return loops
    count, rounds = len(nodes), 1
    while count > 1:
        extent = nodes[count - 1].extent
        rounds *= extent.value if isinstance(extent, IntImm) else ROW
        lonely = not known[count - 1] and not any(known[: count - 1]) and count == 2
        if lonely or (known[count - 1] if heavy else rounds > INNER_ROUNDS):
            break  # a batch alone may well be one
        count -= 1
    return loops[:count]


def _symbols(product: PrimExpr) -> int:
    """How many symbolic factors a product has."""
    if isinstance(product, Mul):
        return _symbols(product.a) + _symbols(product.b)
    return 0 if isinstance(product, IntImm) else 1


def _guess(extent: PrimExpr) -> int:
    names = set(vars_in(extent))
    value = Analyzer().simplify(
        substitute(extent, {name: IntImm(name.dtype, SYMBOLIC) for name in names})
    )
    return max(value.value, 1) if isinstance(value, IntImm) else SYMBOLIC
