"""Kernels whose weights come from memory, as in a network, beside weights that lie in a cache.

    TVM_NUM_THREADS=1 python -m benchmarks.cold_weights [--target TARGET]

Each row is a layer with constant weights. "warm" is the fastest of runs behind each other. "cold"
is the fastest of runs after which 256 MB of other memory are written, "waiting" the same without
`tir.PrefetchPanels`. All take turns in one run. Microseconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tvm
from benchmarks.kernels import conv, f32, model
from tvm import relax, runtime
from tvm.relax.frontend.onnx import from_onnx

ROUNDS = 15
LAYERS: dict[str, Callable[[], Any]] = {
    "1x1 512 to 2048, h7": lambda: conv(512, 7, 1, 2048),
    "1x1 2048 to 512, h7": lambda: conv(2048, 7, 1, 512),
    "1x1 256 to 1024, h14": lambda: conv(256, 14, 1, 1024),
    "3x3 512, h7": lambda: conv(512, 7, 3, 512),
    "3x3 256, h14": lambda: conv(256, 14, 3, 256),
    "3x3 128, h28": lambda: conv(128, 28, 3, 128),
    "matmul 128 x 768 x 3072": lambda: model("MatMul", [f32(128, 768)], [f32(768, 3072)]),
    "matmul 64 x 3072 x 768": lambda: model("MatMul", [f32(64, 3072)], [f32(3072, 768)]),
    "matmul 16 x 1024 x 4096": lambda: model("MatMul", [f32(16, 1024)], [f32(1024, 4096)]),
}


def main() -> None:
    """Measure each layer."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_weights")
    parser.add_argument("--target", default="llvm")
    target = parser.parse_args().target
    other = np.zeros(64 << 20, "float32")
    print(f"{'':28}{'warm':>8}{'cold':>8}{'waiting':>9}{'cold / waiting':>16}")
    for name, made in LAYERS.items():
        onnx_model, inputs = made()
        tensors = [runtime.tensor(value) for value in inputs]
        runs: list[Callable[[], Any]] = []
        for omitted in ([], ["tir.PrefetchPanels"]):
            # kernels are kept by their schedules, which say nothing of the passes that are left out
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TVM_CACHE_DIR"] = folder
                with tvm.transform.PassContext(disabled_pass=omitted):
                    built = tvm.compile(from_onnx(onnx_model), target)
            main_of = relax.VirtualMachine(built, tvm.cpu())["main"]
            runs.append(lambda run=main_of, given=tensors: run(*given))
        warm = min(_seconds(runs[0]) for _ in range(200))
        cold: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for run, found in zip(runs, cold):
                other += 1
                found.append(_seconds(run))
        fetching, waiting = (min(found) for found in cold)
        print(f"{name:28}{warm * 1e6:8.0f}{fetching * 1e6:8.0f}{waiting * 1e6:9.0f}"
              f"{fetching / waiting:16.2f}", flush=True)  # fmt: skip


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
