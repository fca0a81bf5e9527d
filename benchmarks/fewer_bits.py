"""Products with weights of few bits: ours, ONNX Runtime and f32, alternating, on one thread.

    python -m benchmarks.fewer_bits [--size 4096] [--rows 1 4 16 128] [--rounds 40]

A model of one MatMulNBits (blocks of 32, with a scale each) is compiled, and run by ONNX Runtime on
the same file. `f32` is a matmul of our own with the same weights unpacked; `share` is the time as a
part of it. Bandwidth counts the bytes of weights and scales.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TVM_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.runtime import tensor

BLOCK = 32


def model(size: int, bits: int, rng: np.random.Generator) -> onnx.ModelProto:
    """One product of (rows, size) with weights (size, size)."""
    blocks = size // BLOCK
    weights = {
        "q": rng.integers(0, 256, (size, blocks, BLOCK * bits // 8)).astype("uint8"),
        "scale": (rng.random(size * blocks) * 0.01).astype("float32"),
    }
    node = helper.make_node(
        "MatMulNBits", ["x", *weights], ["y"], domain="com.microsoft", N=size, K=size, bits=bits,
        block_size=BLOCK, accuracy_level=1,
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", size])],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )  # fmt: skip
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def plain(size: int, rng: np.random.Generator) -> onnx.ModelProto:
    """The same product in f32."""
    weights = rng.standard_normal((size, size)).astype("float32")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", size])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def ours(proto: onnx.ModelProto) -> Callable[[np.ndarray[Any, Any]], Any]:
    """The compiled model as a function of tensors."""
    vm = relax.VirtualMachine(tvm.compile(from_onnx(proto), "llvm"), tvm.cpu())
    return lambda x: vm["main"](tensor(x))


def peer(proto: onnx.ModelProto) -> Callable[[np.ndarray[Any, Any]], Any]:
    """ONNX Runtime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return lambda x: session.run(None, {"x": x})[0]


def best(
    runs: dict[str, Callable[[np.ndarray[Any, Any]], Any]], x: np.ndarray[Any, Any], rounds: int
) -> dict[str, float]:
    """The shortest time of each in seconds, in turns."""
    found = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run(x)
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 4, 16, 128])
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    runs: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {"f32": ours(plain(args.size, rng))}
    for bits in (8, 4):
        proto = model(args.size, bits, rng)
        runs[f"int{bits}"], runs[f"int{bits} ORT"] = ours(proto), peer(proto)
    print("| rows | format | ms | ONNX Runtime ms | ratio | share of f32 | GB/s | GFLOP/s |")
    print("|---|---|---|---|---|---|---|---|")
    for rows in args.rows:
        x = rng.standard_normal((rows, args.size)).astype("float32")
        for bits in (8, 4):
            a, b = runs[f"int{bits}"](x).numpy(), runs[f"int{bits} ORT"](x)
            assert np.abs(a - b).max() <= 1e-4 * np.abs(b).max(), "the two agree"
        times = best(runs, x, args.rounds)
        for name in ("f32", "int8", "int4"):
            other = times.get(f"{name} ORT")
            ms = times[name] * 1e3
            width = {"f32": 4.0, "int8": 1 + 4 / BLOCK, "int4": 0.5 + 4 / BLOCK}[name]
            shown = f"{other * 1e3:.3f} | {times[name] / other:.2f}" if other else "- | -"
            print(
                f"| {rows} | {name} | {ms:.3f} | {shown} | {times[name] / times['f32']:.2f} "
                f"| {args.size**2 * width / times[name] / 1e9:.1f} "
                f"| {2 * rows * args.size**2 / times[name] / 1e9:.0f} |"
            )


if __name__ == "__main__":
    main()
