"""Kernels whose sizes are known only when they run, beside those of known sizes and ONNX Runtime.

    TVM_NUM_THREADS=1 python benchmarks/symbolic_kernels.py [-mcpu=NAME] [part of a name ...]

Each row is one operator, compiled once with symbols in place of all sizes but the channels, and
once for the sizes of the row; the three run in turns, results are compared, and the fastest runs
are printed with the ratios of the symbolic kernel to the other two. ONNX Runtime takes what the
machine has, whatever `-mcpu` says.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.kernels import THREADS, f32, theirs, timed

Case = tuple[str, tuple[int, ...], list[np.ndarray], dict[str, Any]]


def conv(
    shape: tuple[int, ...],
    out: int,
    kernel: int,
    stride: int = 1,
    group: int = 1,
    dilation: int = 1,
) -> Case:
    channels, rank = shape[1], len(shape) - 2
    weight = f32(out, channels // group, *[kernel] * rank) / (channels // group * kernel)
    attributes = {
        "pads": [kernel // 2 * dilation] * 2 * rank, "strides": [stride] * rank, "group": group,
        "dilations": [dilation] * rank,
    }  # fmt: skip
    return "Conv", shape, [weight, f32(out)], attributes


def pool(op: str, shape: tuple[int, ...], kernel: int, stride: int) -> Case:
    attributes = {
        "kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4
    }
    return op, shape, [], attributes


CASES: dict[str, Callable[[], Case]] = {
    "conv 3x3 64 h56": lambda: conv((1, 64, 56, 56), 64, 3),
    "conv 3x3 128 h28": lambda: conv((1, 128, 28, 28), 128, 3),
    "conv 3x3 256 h14": lambda: conv((1, 256, 14, 14), 256, 3),
    "conv 3x3 512 h7": lambda: conv((1, 512, 7, 7), 512, 3),
    "conv 3x3 512 3x5 batch 3": lambda: conv((3, 512, 3, 5), 512, 3),
    "conv 3x3 24-96 80x112": lambda: conv((1, 24, 80, 112), 96, 3),
    "conv 3x3 64 h13 batch 3": lambda: conv((3, 64, 13, 13), 64, 3),
    "conv 3x3 128-32 h7": lambda: conv((1, 128, 7, 7), 32, 3),
    "conv 3x3 128-32 6x10 batch 3": lambda: conv((3, 128, 6, 10), 32, 3),
    "conv 3x3 s2 64-128 h14": lambda: conv((1, 64, 14, 14), 128, 3, 2),
    "conv 3x3 s2 128-256 h28": lambda: conv((1, 128, 28, 28), 256, 3, 2),
    "conv 3x3 s2 3-32 h224": lambda: conv((1, 3, 224, 224), 32, 3, 2),
    "conv 7x7 s2 3-64 h224": lambda: conv((1, 3, 224, 224), 64, 7, 2),
    "conv 3x3 d2 64 h56": lambda: conv((1, 64, 56, 56), 64, 3, dilation=2),
    "conv 1x1 64-256 h56": lambda: conv((1, 64, 56, 56), 256, 1),
    "conv 1x1 s2 256-512 h56": lambda: conv((1, 256, 56, 56), 512, 1, 2),
    "conv 1x1 16-96 h112": lambda: conv((1, 16, 112, 112), 96, 1),
    "conv 1x1 24-144 h56": lambda: conv((1, 24, 56, 56), 144, 1),
    "conv 1x1 96-24 h56": lambda: conv((1, 96, 56, 56), 24, 1),
    "conv 1x1 32-192 h28": lambda: conv((1, 32, 28, 28), 192, 1),
    "conv 1x1 384-64 h14": lambda: conv((1, 384, 14, 14), 64, 1),
    "conv 1x1 16-64 h55": lambda: conv((1, 16, 55, 55), 64, 1),
    "conv 3x3 16-64 h55": lambda: conv((1, 16, 55, 55), 64, 3),
    "conv 1x1 240 12x80": lambda: conv((1, 240, 12, 80), 240, 1),
    "conv 1x1 480 3x80": lambda: conv((1, 480, 3, 80), 480, 1),
    "conv 1x1 160-960 3x5 batch 3": lambda: conv((3, 160, 3, 5), 960, 1),
    "conv 1x1 160-960 h7": lambda: conv((1, 160, 7, 7), 960, 1),
    "conv 3x3 s2 256-512 h6 batch 3": lambda: conv((3, 256, 6, 6), 512, 3, 2),
    "conv 5 64 t500": lambda: conv((1, 64, 500), 64, 5),
    "conv 5 64 t37 batch 7": lambda: conv((7, 64, 37), 64, 5),
    "groups of 16, 3x3 64 h56": lambda: conv((1, 64, 56, 56), 64, 3, group=4),
    "depthwise 3x3 32 h112": lambda: conv((1, 32, 112, 112), 32, 3, group=32),
    "depthwise 3x3 s2 144 h56": lambda: conv((1, 144, 56, 56), 144, 3, 2, 144),
    "depthwise 3x3 144 h56": lambda: conv((1, 144, 56, 56), 144, 3, group=144),
    "depthwise 3x3 192 h28": lambda: conv((1, 192, 28, 28), 192, 3, group=192),
    "depthwise 3x3 384 h14": lambda: conv((1, 384, 14, 14), 384, 3, group=384),
    "depthwise 5x5 240 12x80": lambda: conv((1, 240, 12, 80), 240, 5, group=240),
    "depthwise 5x5 672 h14": lambda: conv((1, 672, 14, 14), 672, 5, group=672),
    "depthwise 5x5 1152 h7": lambda: conv((1, 1152, 7, 7), 1152, 5, group=1152),
    "depthwise 5x5 s2 672 h14": lambda: conv((1, 672, 14, 14), 672, 5, 2, 672),
    "depthwise 5x5 s2 672 6x10 batch 3": lambda: conv((3, 672, 6, 10), 672, 5, 2, 672),
    "depthwise 7x7 768 h7": lambda: conv((1, 768, 7, 7), 768, 7, group=768),
    "depthwise 7x7 768 3x5 batch 3": lambda: conv((3, 768, 3, 5), 768, 7, group=768),
    "depthwise 3x3 960 h7": lambda: conv((1, 960, 7, 7), 960, 3, group=960),
    "max pool 3x3 s2 64 h112": lambda: pool("MaxPool", (1, 64, 112, 112), 3, 2),
    "average pool 3x3 64 h56": lambda: pool("AveragePool", (1, 64, 56, 56), 3, 1),
    "global average 960 h7": lambda: ("GlobalAveragePool", (1, 960, 7, 7), [], {}),
    "softmax 512x512": lambda: ("Softmax", (1, 512, 512), [], {"axis": -1}),
    "matmul 40x120x6625": lambda: ("MatMul", (1, 40, 120), [f32(120, 6625)], {}),
    "matmul 56x56x96x384": lambda: ("MatMul", (1, 56, 56, 96), [f32(96, 384)], {}),
    "matmul 7x7x768x3072": lambda: ("MatMul", (1, 7, 7, 768), [f32(768, 3072)], {}),
}  # fmt: skip


def model(case: Case, symbolic: bool) -> onnx.ModelProto:
    op, shape, weights, attributes = case
    dims: list[Any] = list(shape)
    if symbolic:
        fixed = len(shape) - 1 if op == "MatMul" else 1
        dims = [size if dim == fixed else f"d{dim}" for dim, size in enumerate(shape)]
    constants = [numpy_helper.from_array(w, f"w{n}") for n, w in enumerate(weights)]
    node = helper.make_node(op, ["x", *(c.name for c in constants)], ["y"], **attributes)
    data = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, dims)
    result = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], op, [data], [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ours(made: onnx.ModelProto, target: str, data: np.ndarray) -> tuple[Callable[[], Any], float]:
    """The kernel on the data, and how long it took to compile."""
    start = time.perf_counter()
    main = relax.VirtualMachine(tvm.compile(from_onnx(made), target), tvm.cpu())["main"]
    took, tensor = time.perf_counter() - start, tvm.runtime.tensor(data)
    return lambda: main(tensor), took


def main(words: list[str]) -> None:
    target = " ".join(["llvm", *(word for word in words if word.startswith("-"))])
    parts = [word for word in words if not word.startswith("-")]
    print(f"{target}, threads: {THREADS}")
    print(
        f"{'':26} {'symbolic':>9} {'fixed':>9} {'ort ms':>9} {'/fixed':>7} {'/ort':>7} "
        f"{'error':>8} {'compile s':>9}"
    )
    ratios: list[tuple[float, float]] = []
    for name, make in CASES.items():
        if parts and not any(part in name for part in parts):
            continue
        case = make()
        data = f32(*case[1])
        dynamic, took = ours(model(case, True), target, data)
        fixed, _ = ours(model(case, False), target, data)
        other = theirs(model(case, False), [data])
        found, wanted = dynamic().numpy(), other()[0]
        error = float(np.max(np.abs(found - wanted)) / max(1e-6, float(np.max(np.abs(wanted)))))
        runs = (dynamic, fixed, other)
        rounds = max(7, min(100, int(0.4 / max(sum(timed(run) for run in runs), 1e-6))))
        times = [[timed(run) for run in runs] for _ in range(rounds)]
        a, b, c = (min(column) * 1e3 for column in zip(*times))
        ratios.append((a / b, a / c))
        print(
            f"{name:26} {a:9.3f} {b:9.3f} {c:9.3f} {a / b:7.2f} {a / c:7.2f} {error:8.1e} "
            f"{took:9.1f}",
            flush=True,
        )
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in zip(*ratios)]
    print(f"{'geometric mean':56} {means[0]:7.2f} {means[1]:7.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
