"""Products with weights of few bits: ours, ONNX Runtime and f32, alternating, on one thread.

    python -m benchmarks.fewer_bits [--size 4096] [--rows 1 4 16 128] [--rounds 40] [--layers 8]
                                    [--accuracy 1] [--target llvm]

A chain of MatMulNBits (blocks of 32, with a scale each) is compiled, and run by ONNX Runtime on the
same file: of several, so that weights come from memory, as those of a language model do. `f32` are
products of our own with weights of f32; `share` is the time as a part of theirs. Bandwidth counts
the bytes of weights and scales. Accuracy level 4 lets inputs be rounded to 8 bits in blocks.
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


def model(
    size: int, bits: int, layers: int, accuracy: int, rng: np.random.Generator
) -> onnx.ModelProto:
    """Products of (rows, size) with weights (size, size), one after another."""
    blocks, nodes, arrays = size // BLOCK, [], {}
    for i in range(layers):
        packed = rng.integers(0, 256, (size, blocks, BLOCK * bits // 8)).astype("uint8")
        arrays[f"q{i}"] = packed
        arrays[f"s{i}"] = (rng.random(size * blocks) * 2.0 ** (2 - bits) / 64).astype("float32")
        nodes.append(helper.make_node(
            "MatMulNBits", [f"x{i}", f"q{i}", f"s{i}"], [f"x{i + 1}"], domain="com.microsoft",
            N=size, K=size, bits=bits, block_size=BLOCK, accuracy_level=accuracy,
        ))  # fmt: skip
    return _proto(size, nodes, arrays)


def plain(size: int, layers: int, rng: np.random.Generator) -> onnx.ModelProto:
    """The same products in f32."""
    arrays = {f"w{i}": rng.standard_normal((size, size)).astype("float32") / 64
              for i in range(layers)}  # fmt: skip
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(layers)]
    return _proto(size, nodes, arrays)


def _proto(size: int, nodes: list[Any], arrays: dict[str, Any]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "products",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["rows", size])],
        [helper.make_tensor_value_info(f"x{len(nodes)}", TensorProto.FLOAT, ["rows", size])],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )  # fmt: skip
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def ours(proto: onnx.ModelProto, target: str) -> Callable[[Any], Any]:
    """The compiled model as a function of tensors."""
    vm = relax.VirtualMachine(tvm.compile(from_onnx(proto), target), tvm.cpu())
    return lambda x: vm["main"](x)


def peer(proto: onnx.ModelProto) -> Callable[[np.ndarray[Any, Any]], Any]:
    """ONNX Runtime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return lambda x: session.run(None, {"x0": x})[0]


def best(
    runs: dict[str, Callable[[Any], Any]], x: np.ndarray[Any, Any], rounds: int
) -> dict[str, float]:
    """The shortest time of each in seconds, in turns."""
    found, given = dict.fromkeys(runs, float("inf")), tensor(x)
    for _ in range(rounds):
        for name, run in runs.items():
            value = x if name.endswith("ORT") else given
            start = time.perf_counter()
            run(value)
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 4, 16, 128])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--accuracy", type=int, default=1)
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--alone", action="store_true", help="without ONNX Runtime")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    runs: dict[str, Callable[[Any], Any]] = {
        "f32": ours(plain(args.size, args.layers, rng), args.target)
    }
    for bits in (8, 4):
        proto = model(args.size, bits, args.layers, args.accuracy, rng)
        runs[f"int{bits}"] = ours(proto, args.target)
        if not args.alone:
            runs[f"int{bits} ORT"] = peer(proto)
    print("| rows | format | ms | ONNX Runtime ms | ratio | share of f32 | GB/s | GFLOP/s |")
    print("|---|---|---|---|---|---|---|---|")
    for rows in args.rows:
        x = rng.standard_normal((rows, args.size)).astype("float32")
        for bits in () if args.alone else (8, 4):
            a, b = runs[f"int{bits}"](tensor(x)).numpy(), runs[f"int{bits} ORT"](x)
            most = 0.1 if args.accuracy == 4 else 1e-4
            assert np.abs(a - b).max() <= most * np.abs(b).max(), "the two agree"
        times = best(runs, x, args.rounds)
        for name in ("f32", "int8", "int4"):
            other = times.get(f"{name} ORT")
            times[name] /= args.layers
            other = other and other / args.layers
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
