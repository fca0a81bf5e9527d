"""Matrix products on one thread: the GEMM rule beside numpy (OpenBLAS), in GFLOP/s.

    python benchmarks/gemm.py [--sizes 512,1024] [--rounds 5]

Both are timed in one process, in turns, best of the rounds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

import numpy as np

import tvm
from tvm import dlight, te

ONE_THREAD = {
    name: "1"
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")
}


def matmul(m: int, n: int, k: int) -> tvm.IRModule:
    """C = A @ B in float32, scheduled by the rule."""
    a = te.placeholder((m, k), name="A")
    b = te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    mod = tvm.IRModule({"main": te.create_prim_func([a, b, c])})
    with tvm.target.Target("llvm"):
        return dlight.ApplyDefaultSchedule(dlight.cpu.GEMM())(mod)


def seconds(run: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def compare(size: int, rounds: int) -> tuple[float, float]:
    """GFLOP/s of ours and of numpy for a square product."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((size, size), dtype="float32")
    b = rng.standard_normal((size, size), dtype="float32")
    compiled = tvm.compile(matmul(size, size, size), target="llvm")
    tensors = [tvm.runtime.tensor(x) for x in (a, b, np.zeros((size, size), "float32"))]
    run = compiled["main"]
    out = np.empty((size, size), "float32")
    flops = 2 * size**3
    calls = max(1, int(2e9 / flops))
    run(*tensors)
    np.testing.assert_allclose(tensors[2].numpy(), a @ b, rtol=1e-3, atol=1e-3)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: run(*tensors), calls))
        theirs.append(seconds(lambda: np.matmul(a, b, out=out), calls))
    return flops / min(ours) / 1e9, flops / min(theirs) / 1e9


def main() -> None:
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # the libraries read these when they load, so they have to stand before python starts
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="256,512,960,1000,1024,1536")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'size':>6} {'ours':>8} {'numpy':>8} {'ratio':>6}   GFLOP/s, one thread, float32")
    for size in map(int, options.sizes.split(",")):
        ours, theirs = compare(size, options.rounds)
        print(f"{size:>6} {ours:>8.1f} {theirs:>8.1f} {ours / theirs:>6.2f}")


if __name__ == "__main__":
    main()
