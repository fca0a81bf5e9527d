"""Untuned kernels beside ONNX Runtime: one operator a model, both in turns in one run.

    TVM_NUM_THREADS=1 python benchmarks/kernels.py [part of a name ...]

Each row is one ONNX node with random data (weights are constants). Both run on as many threads as
TVM_NUM_THREADS says, results are compared, and the fastest of alternating runs is printed: what
else the machine does makes some of them slower, and none faster.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

THREADS = int(os.environ.get("TVM_NUM_THREADS") or os.cpu_count() or 1)
RNG = np.random.default_rng(0)
Model = tuple[onnx.ModelProto, list[np.ndarray]]


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def model(op: str, inputs: list[np.ndarray], weights: list[np.ndarray], **attributes: Any) -> Model:
    """A model of one node; `weights` follow the inputs and are constants."""
    names = [f"x{n}" for n in range(len(inputs))]
    constants = [numpy_helper.from_array(w, f"w{n}") for n, w in enumerate(weights)]
    node = helper.make_node(op, [*names, *(c.name for c in constants)], ["y"], **attributes)
    kinds = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape)
        ) for name, x in zip(names, inputs)
    ]  # fmt: skip
    result = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], op, kinds, [result], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnx.shape_inference.infer_shapes(made), inputs


def conv(channels: int, size: int, kernel: int, out: int, stride: int = 1, group: int = 1) -> Model:
    weight = f32(out, channels // group, kernel, kernel) / (channels // group * kernel)
    pads = [kernel // 2] * 4
    data, strides = f32(1, channels, size, size), [stride] * 2
    return model("Conv", [data], [weight], pads=pads, strides=strides, group=group)


CASES: dict[str, Callable[[], Model]] = {
    "matmul 1024": lambda: model("MatMul", [f32(1024, 1024)], [f32(1024, 1024)]),
    "matmul 128x768x3072": lambda: model("MatMul", [f32(128, 768)], [f32(768, 3072)]),
    "matmul batch 12x512x64": lambda: model("MatMul", [f32(12, 512, 64), f32(12, 64, 512)], []),
    "gemv 4096": lambda: model("MatMul", [f32(1, 4096)], [f32(4096, 4096)]),
    "gemm transposed 1024": lambda: model(
        "Gemm", [f32(1024, 1024)], [f32(1024, 1024), f32(1024)], transB=1
    ),
    "conv 7x7 s2 3-64 h224": lambda: conv(3, 224, 7, 64, 2),
    "conv 3x3 64 h56": lambda: conv(64, 56, 3, 64),
    "conv 3x3 128 h28": lambda: conv(128, 28, 3, 128),
    "conv 3x3 256 h14": lambda: conv(256, 14, 3, 256),
    "conv 3x3 512 h7": lambda: conv(512, 7, 3, 512),
    "conv 3x3 s2 128-256 h28": lambda: conv(128, 28, 3, 256, 2),
    "conv 1x1 64-256 h56": lambda: conv(64, 56, 1, 256),
    "conv 1x1 1024-256 h14": lambda: conv(1024, 14, 1, 256),
    "depthwise 32 h112": lambda: conv(32, 112, 3, 32, 1, 32),
    "depthwise 144 h56 s2": lambda: conv(144, 56, 3, 144, 2, 144),
    "depthwise 384 h14": lambda: conv(384, 14, 3, 384, 1, 384),
    "conv transposed 64-32 h28": lambda: model(
        "ConvTranspose", [f32(1, 64, 28, 28)], [f32(64, 32, 4, 4)], strides=[2, 2], pads=[1] * 4
    ),
    "softmax 1024x1024": lambda: model("Softmax", [f32(1024, 1024)], [], axis=-1),
    "layernorm 1024x768": lambda: model(
        "LayerNormalization", [f32(1024, 768)], [f32(768), f32(768)], axis=-1
    ),
    "gelu 1e6": lambda: model("Gelu", [f32(1000, 1000)], []),
    "relu 1e6": lambda: model("Relu", [f32(1000, 1000)], []),
    "add 1e6": lambda: model("Add", [f32(1000, 1000), f32(1000, 1000)], []),
    "sum 4096x4096 axis 0": lambda: model(
        "ReduceSum", [f32(4096, 4096)], [np.array([0], "int64")], keepdims=0
    ),
    "sum 4096x4096 axis 1": lambda: model(
        "ReduceSum", [f32(4096, 4096)], [np.array([1], "int64")], keepdims=0
    ),
    "max 1024x1024 axis 1": lambda: model(
        "ReduceMax", [f32(1024, 1024)], [np.array([1], "int64")], keepdims=0
    ),
    "transpose 2048": lambda: model("Transpose", [f32(2048, 2048)], [], perm=[1, 0]),
    "transpose heads": lambda: model("Transpose", [f32(1, 512, 12, 64)], [], perm=[0, 2, 1, 3]),
    "max pool 3x3 s2 64 h112": lambda: model(
        "MaxPool", [f32(1, 64, 112, 112)], [], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    ),
    "global average 2048 h7": lambda: model("GlobalAveragePool", [f32(1, 2048, 7, 7)], []),
    "concat channels": lambda: model(
        "Concat", [f32(1, 256, 28, 28), f32(1, 256, 28, 28)], [], axis=1
    ),
    "resize 2x 64 h56": lambda: model(
        "Resize", [f32(1, 64, 56, 56)], [np.zeros(0, "float32"), np.array([1, 1, 2, 2], "float32")],
        mode="linear",
    ),
    "cumsum 1024x1024": lambda: model("CumSum", [f32(1024, 1024)], [np.array(1, "int64")]),
    "argmax 1024x1024": lambda: model("ArgMax", [f32(1024, 1024)], [], axis=1, keepdims=0),
    "batchnorm 64 h112": lambda: model(
        "BatchNormalization", [f32(1, 64, 112, 112)],
        [f32(64), f32(64), f32(64), abs(f32(64)) + 1],
    ),
}  # fmt: skip


def theirs(made: onnx.ModelProto, inputs: list[np.ndarray]) -> Callable[[], list[np.ndarray]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    feed = {i.name: x for i, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed)  # type: ignore[no-any-return]


def ours(made: onnx.ModelProto, inputs: list[np.ndarray]) -> Callable[[], Any]:
    machine = relax.VirtualMachine(tvm.compile(from_onnx(made), "llvm"), tvm.cpu())
    main, tensors = machine["main"], [tvm.runtime.tensor(x) for x in inputs]
    return lambda: main(*tensors)


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, made: onnx.ModelProto, inputs: list[np.ndarray]) -> None:
    """Print the fastest of runs in turns, and the ratio."""
    a, b = ours(made, inputs), theirs(made, inputs)
    found, wanted = a().numpy(), b()[0]
    error = float(np.max(np.abs(found - wanted)) / max(1e-6, float(np.max(np.abs(wanted)))))
    rounds = max(7, min(200, int(0.4 / max(timed(a) + timed(b), 1e-6))))
    both = [(timed(a), timed(b)) for _ in range(rounds)]
    mine, other = (min(column) * 1e3 for column in zip(*both))
    print(f"{name:26} {mine:9.3f} {other:9.3f} {mine / other:7.2f} {error:9.1e}", flush=True)


def main(words: list[str]) -> None:
    print(f"threads: {THREADS}")
    print(f"{'':26} {'tvm ms':>9} {'ort ms':>9} {'ratio':>7} {'error':>9}")
    for name, make in CASES.items():
        if not words or any(word in name for word in words):
            compare(name, *make())


if __name__ == "__main__":
    main(sys.argv[1:])
