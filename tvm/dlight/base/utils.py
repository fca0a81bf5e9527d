"""Small questions that rules ask."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.target.gpu_tuning import gpu_tuning
from tvm.target.target import Target
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import LoopRV, Schedule
from tvm.tir.stmt import For


def get_bytes(dtype: DataType | str) -> int:
    """The bytes of one value."""
    return DataType(dtype).itemsize


def get_extent(sch: Schedule, loop_rv: LoopRV) -> PrimExpr | int:
    """The extent of a loop, as an int where it is one."""
    loop: For = sch.get(loop_rv)
    return loop.extent.value if isinstance(loop.extent, IntImm) else loop.extent


def auto_vectorize(sch: Schedule, loop: LoopRV, max_vec: int) -> None:
    """Vectorize the innermost part of a loop, at most `max_vec` lanes."""
    extent = get_extent(sch, loop)
    if not isinstance(extent, int):
        return
    sch.vectorize(loop if extent <= max_vec else sch.split(loop, factors=[None, max_vec])[-1])


def open_schedule(func: PrimFunc) -> Schedule:
    """A schedule of one function, called `main` within it."""
    return Schedule(func, error_render_level="fast")


def max_threads_per_block(target: Target) -> int:
    """How many threads a block of the target may have."""
    return target.gpu.threads_per_block


def suggest_threads_per_block(
    target: Target, loops: list[For], max_threads_for_dynamic_loop: int = 32
) -> list[int]:
    """How many threads each loop gets: powers of two, none above its loop's extent.

    Loops of known extent choose first, in order; the others share what is left, of which the first
    of them takes all that nobody else does.
    """
    left = gpu_tuning(target).threads
    extents = [loop.extent.value if isinstance(loop.extent, IntImm) else None for loop in loops]
    chosen = [1] * len(loops)
    for i in sorted(range(len(loops)), key=lambda i: extents[i] is None):
        extent = extents[i]
        chosen[i] = _power_below(left, max_threads_for_dynamic_loop if extent is None else extent)
        left //= chosen[i]
    if None in extents:
        chosen[extents.index(None)] *= left
    return chosen


def _power_below(*limits: int) -> int:
    """The largest power of two that no limit forbids."""
    return 1 << max(min(limits).bit_length() - 1, 0)
