"""Softmax of rows that a mask hides in part, and the product with its result, by what hides them.

    TVM_NUM_THREADS=1 python -m benchmarks.masked_scores [--target TARGET]

Milliseconds of processor time, the fastest of 50 runs: 4 windows of 12 heads, 49 x 49 scores, 32
values. Each column adds another number to every other score. Times must not depend on it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tvm
from tvm import relax
from tvm.relax import op
from tvm.relax.vm import VirtualMachine

HIDDEN = (0, -70, -85, -100, -1e4, -np.inf)
TURNS = 50


def kernel(make: Callable[..., Any], shapes: list[tuple[int, ...]], target: str) -> Any:
    """The compiled operator."""
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(shapes)
    ]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(make(*params))
        bb.emit_func_output(out)
    return VirtualMachine(tvm.compile(bb.get(), target), tvm.cpu())["main"]


def fastest(run: Callable[..., Any], *arguments: Any) -> float:
    """Milliseconds of processor time."""
    run(*arguments)
    taken = []
    for _ in range(TURNS):
        start = time.process_time()
        run(*arguments)
        taken.append(time.process_time() - start)
    return min(taken) * 1e3


def main() -> None:
    """Print a row for the softmax and one for the product."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.masked_scores")
    parser.add_argument("--target", default="llvm")
    target = parser.parse_args().target
    scores, values = (4, 12, 49, 49), (4, 12, 49, 32)
    softmax = kernel(lambda x: op.nn.softmax(x), [scores], target)
    product = kernel(op.matmul, [scores, values], target)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype("float32") for shape in (scores, values))
    times: dict[str, list[float]] = {"softmax": [], "product": []}
    for hidden in HIDDEN:
        one = x.copy()
        one[..., ::2] += np.float32(hidden)
        given, other = tvm.runtime.tensor(one), tvm.runtime.tensor(y)
        shares = softmax(given)
        times["softmax"].append(fastest(softmax, given))
        times["product"].append(fastest(product, shares, other))
    print(f"target: {target}, ms")
    print(f"{'':10}" + "".join(f"{hidden:>9}" for hidden in HIDDEN))
    for name, row in times.items():
        print(f"{name:10}" + "".join(f"{ms:9.3f}" for ms in row))


if __name__ == "__main__":
    main()
