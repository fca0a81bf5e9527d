"""Products of matrices of bytes and of bfloat16 with constant weights, on one thread.

    TVM_NUM_THREADS=1 python -m benchmarks.small_numbers [-mcpu=NAME ...]

Billions of additions and multiplications a second of processor time, the most of many runs: for
this machine, and for each CPU that is named, whose instructions it must have.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import tvm
from tvm import relax
from tvm.relax.vm import VirtualMachine

SHAPES = ((1024, 1024, 1024), (128, 768, 3072))
KINDS = (("uint8", "int8", "int32"), ("int8", "int8", "int32"),
         ("bfloat16", "bfloat16", "float32"))  # fmt: skip
ROUNDS = 60


def numbers(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    """Small whole numbers."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return np.random.default_rng(0).integers(0, 99, shape).astype(kind)


def product(m: int, k: int, n: int, kinds: tuple[str, str, str], target: str) -> Callable[[], Any]:
    """A call of x @ w."""
    one, many, sums = kinds
    bb, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((m, k), one))
    with bb.function("main", [x]):
        with bb.dataflow():
            weight = relax.const(numbers(many, k, n))
            made = bb.emit_output(relax.op.matmul(x, weight, out_dtype=sums))
        bb.emit_func_output(made)
    main = VirtualMachine(tvm.compile(bb.get(), target), tvm.cpu())["main"]
    given = tvm.runtime.tensor(numbers(one, m, k))
    return lambda: main(given)


def fastest(run: Callable[[], Any]) -> float:
    """Seconds of processor time."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def main(words: list[str]) -> None:
    """Print a table."""
    targets = ["llvm", *(f"llvm {word}" for word in words)]
    print("| product | " + " | ".join(targets) + " |\n" + "|---" * (len(targets) + 1) + "|")
    for m, k, n in SHAPES:
        for kinds in KINDS:
            runs = [product(m, k, n, kinds, target) for target in targets]
            rates = [f"{2e-9 * m * n * k / fastest(run):.0f}" for run in runs]
            print(f"| {m}x{k}x{n}, {kinds[0]} by {kinds[1]} | " + " | ".join(rates) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
