"""The digits model: time to compile it, and its latency beside that of ONNX Runtime, one thread.

    python benchmarks/digits.py
"""

from __future__ import annotations

import os

os.environ["TVM_NUM_THREADS"] = "1"         # before the pool is made

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

import tvm

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "digits"
MODEL = EXAMPLE / "digits.onnx"
ROUNDS = 30                 # of each, in turn, so that both meet the same machine
CALLS = 200


def compile_seconds(library: Path, cache: Path) -> float:
    """Wall time of `tvm compile` in a new process."""
    command = [sys.executable, "-m", "tvm", "compile", str(MODEL), "-o", str(library)]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--input-shapes", "x:[1,1,8,8]"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TVM_CACHE_DIR": str(cache)},
    )
    return time.perf_counter() - start


def seconds_a_call(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS


def onnx_runtime(x: np.ndarray) -> Callable[[], object]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    # Bound once, as ours is: only the model's own time is compared.
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("probabilities", "cpu")
    return lambda: session.run_with_iobinding(binding)


def main() -> None:
    with np.load(EXAMPLE / "test_images.npz") as stored:
        x = stored["images"][:1, None].astype(np.float32) / 16
    with tempfile.TemporaryDirectory() as folder:
        library, cache = Path(folder) / "digits.so", Path(folder) / "cache"
        cold, cached = (compile_seconds(library, cache) for _ in range(2))
        vm = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())
        main_function, argument = vm["main"], tvm.runtime.tensor(x)
        peer = onnx_runtime(x)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(seconds_a_call(lambda: main_function(argument)))
            theirs.append(seconds_a_call(peer))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"compile, whole command:  cold {cold:.2f} s, cached {cached:.2f} s")
    print(f"latency of tvm:          {_show(ours)}")
    print(f"latency of ONNX Runtime: {_show(theirs)}")
    print(f"ratio of the medians:    {ratio:.2f}")


def _show(times: list[float]) -> str:
    low, high = min(times) * 1e6, max(times) * 1e6
    return f"median {statistics.median(times) * 1e6:.1f} us ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    main()
