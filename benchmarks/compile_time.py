"""Time to compile: a tiny function and a large kernel, with and without the cache on disk.

    python benchmarks/compile_time.py

The second figure of each line is processor time, which other programs disturb less. Asked are 15 ms
for the tiny function, 3 ms when its object is in the cache, and 150 ms for the kernel.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import tvm
from tvm import te

ROUNDS = 15


def tiny(length: int) -> tvm.IRModule:
    """One addition for each element."""
    a = te.placeholder((length,), "float32", "a")
    b = te.compute((length,), lambda i: a[i] + 1.0, "b")
    return tvm.IRModule.from_expr(te.create_prim_func([a, b]))


def matmul(length: int) -> tvm.IRModule:
    """A matrix product with an unrolled register tile of 6 x 64."""
    a = te.placeholder((length, length), "float32", "a")
    b = te.placeholder((length, length), "float32", "b")
    k = te.reduce_axis((0, length), "k")
    c = te.compute((length, length), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    sch = tvm.tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("c")
    i, j, k_loop = sch.get_loops(block)
    rows, row = sch.split(i, [None, 6])
    columns, column, lane = sch.split(j, [None, 4, 16])
    sch.reorder(rows, columns, k_loop, row, column, lane)
    sch.vectorize(lane)
    for loop in (row, column):
        sch.unroll(loop)
    return sch.mod


def times(make: Callable[[int], tvm.IRModule], lengths: list[int]) -> list[tuple[float, float]]:
    """Wall and processor time of each compilation, in milliseconds."""
    found = []
    for length in lengths:
        mod = make(length)
        wall, cpu = time.perf_counter(), time.process_time()
        tvm.compile(mod, target="llvm")
        found.append(((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3))
    return found


def report(name: str, found: list[tuple[float, float]]) -> None:
    wall, cpu = zip(*found)
    print(
        f"{name:34s} {min(wall):7.1f} ms (median {statistics.median(wall):7.1f}), "
        f"processor {min(cpu):7.1f} ms (median {statistics.median(cpu):7.1f})"
    )


def instructions(mod: tvm.IRModule) -> int:
    """How many LLVM instructions a module has."""
    lines = tvm.compile(mod, target="llvm").inspect_source().splitlines()
    return sum(line.startswith("  ") for line in lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TVM_CACHE_DIR"] = folder
        tvm.compile(tiny(7), target="llvm")  # loads LLVM
        report("tiny function, cold", times(tiny, [1000 + i for i in range(ROUNDS)]))
        report("tiny function, cached", times(tiny, [1000 + i for i in range(ROUNDS)]))
        lengths = [192 * (i + 2) for i in range(ROUNDS)]
        count = instructions(matmul(192))
        report(f"kernel of {count} instructions, cold", times(matmul, lengths))
        report("kernel, cached", times(matmul, lengths))


if __name__ == "__main__":
    main()
