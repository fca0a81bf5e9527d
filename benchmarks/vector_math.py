"""Mathematical functions on 4,096 numbers in the cache, one core, beside numpy.

    python benchmarks/vector_math.py [FUNCTION ...]

Figures are thousands of millions of elements a second, the best of several runs; those of ours and
of numpy are taken in turn, so that other programs disturb both alike.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import tvm
from tvm import te, tir

LENGTH = 4096
ROUNDS = 12
NUMPY_NAMES = {
    "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
}  # fmt: skip
TWO_OPERANDS = ("pow", "atan2", "hypot")
ASKED = ("exp", "log", "tanh", "erf", "sigmoid")  # at least 2 in float32
OTHERS = (
    "exp2", "exp10", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "asinh", "acosh", "atanh", "pow", "atan2", "hypot",
)  # fmt: skip


def kernel(name: str, dtype: str) -> tvm.runtime.Module:
    """The function on vectors of 512 bits."""
    count = 2 if name in TWO_OPERANDS else 1
    inputs = [te.placeholder((LENGTH,), dtype, f"x{n}") for n in range(count)]
    function = getattr(tir, name)
    out = te.compute((LENGTH,), lambda i: function(*[x[i] for x in inputs]), "out")
    sch = tvm.tir.Schedule(te.create_prim_func([*inputs, out]))
    (loop,) = sch.get_loops("out")
    _, lane = sch.split(loop, [None, 8 if dtype == "float64" else 16])
    sch.vectorize(lane)
    return tvm.compile(sch.mod, target="llvm")


def seconds(call: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def measure(name: str, dtype: str) -> tuple[float, float | None]:
    """Elements a nanosecond: ours, and numpy's where it has the function."""
    rng = np.random.default_rng(0)
    low, high = (1.0, 3.0) if name == "acosh" else (0.1, 1.0)
    count = 2 if name in TWO_OPERANDS else 1
    arrays = [rng.uniform(low, high, LENGTH).astype(dtype) for _ in range(count)]
    tensors = [tvm.runtime.tensor(x) for x in [*arrays, np.zeros(LENGTH, dtype)]]
    built = kernel(name, dtype)
    timer = built.time_evaluator("main", tvm.cpu(), number=200, repeat=1)
    theirs = getattr(np, NUMPY_NAMES.get(name, name), None)
    ours_s, theirs_s = float("inf"), float("inf")
    for _ in range(ROUNDS):
        ours_s = min(ours_s, timer(*tensors).results[0])
        if theirs is not None:
            theirs_s = min(theirs_s, seconds(lambda: theirs(*arrays), 20))
    return LENGTH / ours_s / 1e9, None if theirs is None else LENGTH / theirs_s / 1e9


def main() -> None:
    names = sys.argv[1:] or [*ASKED, *OTHERS]
    print(f"{'':10s} {'float32':>8s} {'numpy':>8s} {'float64':>8s} {'numpy':>8s}")
    for name in names:
        cells = []
        for dtype in ("float32", "float64"):
            ours, theirs = measure(name, dtype)
            cells += [f"{ours:8.2f}", "       -" if theirs is None else f"{theirs:8.2f}"]
        print(f"{name:10s} {' '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
