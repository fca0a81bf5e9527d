"""A matrix product of TE under the GEMM rule beside numpy's, one thread.

    python benchmarks/matmul.py [n ...]
"""

from __future__ import annotations

import os

os.environ["TVM_NUM_THREADS"] = "1"         # before either library makes its threads
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import tvm
from tvm import dlight, te

SIZES = (256, 512, 1024)
ROUNDS = 15                 # of each, in turn, so that both meet the same machine


def product(n: int) -> tvm.tir.PrimFunc:
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def compiled(n: int) -> tvm.runtime.Module:
    with tvm.target.Target("llvm"):
        module = tvm.IRModule({"main": product(n)})
        scheduled = dlight.ApplyDefaultSchedule(dlight.cpu.GEMM())(module)
    return tvm.compile(scheduled, target="llvm")


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(n: int) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((n, n)).astype("float32") for _ in range(2))
    out = np.empty((n, n), "float32")
    main = compiled(n)["main"]
    a, b, c = (tvm.runtime.tensor(array) for array in (x, y, out))
    main(a, b, c)
    np.matmul(x, y, out=out)
    error = np.abs(c.numpy() - out).max() / np.abs(out).max()
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: main(a, b, c)))
        theirs.append(seconds(lambda: np.matmul(x, y, out=out)))
    rates = [2e-9 * n**3 / statistics.median(times) for times in (ours, theirs)]
    print(
        f"{n:5d}: tvm {rates[0]:6.1f} GFLOP/s, numpy {rates[1]:6.1f} GFLOP/s, "
        f"ratio {rates[0] / rates[1]:.2f}, relative difference {error:.1e}"
    )


if __name__ == "__main__":
    for size in map(int, sys.argv[1:] or SIZES):
        compare(size)
