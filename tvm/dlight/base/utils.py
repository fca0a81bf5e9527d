"""Small questions that rules ask."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir.expr import IntImm
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
    lanes = min(extent, max_vec)
    inner = sch.split(loop, factors=[None, lanes])[-1]
    sch.vectorize(inner)


def max_threads_per_block(target: Target) -> int:
    """How many threads a block of the target may have; 1 for CPUs."""
    for name in ("max_threads_per_block", "max_num_threads"):
        value = target.attrs.get(name)
        if value is not None:
            return int(value)
    return 64 if "cpu" not in target.keys else 1


def suggest_threads_per_block(
    target: Target, loops: list[For], max_threads_for_dynamic_loop: int = 32
) -> list[int]:
    """How many threads each loop gets, powers of two whose product fits a block."""
    threads = 1024 if str(target.kind) in ("cuda", "rocm") else 256
    sizes: list[int | None] = []
    for loop in loops:
        sizes.append(loop.extent.value if isinstance(loop.extent, IntImm) else None)
    chosen: list[int] = [1] * len(loops)
    order = sorted(range(len(loops)), key=lambda i: (sizes[i] is None, sizes[i] or 0))
    open_loops = sum(1 for size in sizes if size is None)
    for i in order:
        size, limit = sizes[i], threads
        if size is None:
            limit = min(max_threads_for_dynamic_loop, max(1, int(threads ** (1 / open_loops))))
            open_loops -= 1
        power = 1
        while power * 2 <= limit and (size is None or power < size):
            power *= 2
        chosen[i] = power
        threads //= power
    return chosen
