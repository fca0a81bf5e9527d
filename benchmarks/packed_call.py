"""What a call of a compiled function costs: three tensors, checked and passed, nothing computed.

    python benchmarks/packed_call.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from tvm import runtime
from tvm.ir.module import IRModule
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.build import build
from tvm.tir.function import PrimFunc

CALLS = 20_000
REPEATS = 11


def empty_function() -> PrimFunc:
    """f(A, B, C): each a float32 tensor of 4 x 4, of which one element is written."""
    buffers = [decl_buffer((4, 4), "float32", name) for name in "ABC"]
    a, _, c = buffers
    body = s.BufferStore(c, e.BufferLoad(a, [0, 0]), [0, 0])
    return PrimFunc(buffers, body, attrs={"global_symbol": "f"})


def nanoseconds(func: Callable[..., object], *args: object) -> list[float]:
    """Time of one call, once a repeat."""
    func(*args)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            func(*args)
        times.append((time.perf_counter() - start) / CALLS * 1e9)
    return times


def main() -> None:
    """Print the table."""
    func = build(IRModule({"f": empty_function()}), "llvm")["f"]
    arrays = [np.ones((4, 4), "float32") for _ in range(3)]
    tensors = [runtime.tensor(a) for a in arrays]
    rows = {
        "compiled, 3 tensors": nanoseconds(func, *tensors),
        "compiled, 3 numpy arrays": nanoseconds(func, *arrays),
        "Python, 3 tensors": nanoseconds(lambda a, b, c: None, *tensors),
    }
    print(f"{'call':<28}{'median ns':>12}{'min ns':>10}")
    for name, times in rows.items():
        print(f"{name:<28}{statistics.median(times):>12.0f}{min(times):>10.0f}")


if __name__ == "__main__":
    main()
