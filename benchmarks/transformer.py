"""Whole transformers, untuned, beside ONNX Runtime: one ONNX model for both, in turns in one run.

    TVM_NUM_THREADS=1 python benchmarks/transformer.py [part of a name ...]

The models are encoders as exporters write them: products with constant weights, heads taken apart
by reshapes and transposes, the softmax between two products, layer norms, a decomposed gelu. Each
has a form with fixed sizes and one in which batch and length are symbols. Results are compared;
times are the fastest of alternating runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import THREADS, ours, theirs, timed

Dim = int | str


@dataclass(frozen=True)
class Size:
    """The sizes of an encoder, and of the inputs it runs on."""

    layers: int
    width: int
    heads: int
    batch: int
    length: int
    causal: bool = False


class Encoder:
    """Builds the ONNX graph of an encoder, node by node."""

    def __init__(self, size: Size, batch: Dim, length: Dim) -> None:
        self.size, self.shape = size, [batch, length, size.width]
        self.rng = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, value: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, *shape: int) -> str:
        scale = 1.0 if len(shape) == 1 else shape[0] ** -0.5
        return self.constant((self.rng.standard_normal(shape) * scale).astype("float32"))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, "float32"))

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def linear(self, x: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", x, self.weight(rows, columns))
        return self.node("Add", product, self.weight(columns))

    def heads(self, x: str, perm: Sequence[int]) -> str:
        shape = [0, 0, self.size.heads, self.size.width // self.size.heads]
        split = self.node("Reshape", x, self.constant(np.array(shape, "int64")))
        return self.node("Transpose", split, perm=perm)

    def attention(self, x: str, mask: str | None) -> str:
        width = self.size.width
        q, k, v = (self.linear(x, width, width) for _ in range(3))
        q, v = self.heads(q, (0, 2, 1, 3)), self.heads(v, (0, 2, 1, 3))
        scores = self.node("MatMul", q, self.heads(k, (0, 2, 3, 1)))
        scores = self.node("Div", scores, self.number((width // self.size.heads) ** 0.5))
        if mask is not None:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        mixed = self.node("Transpose", mixed, perm=(0, 2, 1, 3))
        shape = self.constant(np.array([0, 0, width], "int64"))
        return self.linear(self.node("Reshape", mixed, shape), width, width)

    def gelu(self, x: str) -> str:
        erf = self.node("Erf", self.node("Div", x, self.number(2**0.5)))
        twice = self.node("Mul", x, self.node("Add", erf, self.number(1)))
        return self.node("Mul", twice, self.number(0.5))

    def norm(self, x: str) -> str:
        width = self.size.width
        return self.node("LayerNormalization", x, self.weight(width), self.weight(width), axis=-1)

    def layer(self, x: str, mask: str | None) -> str:
        width = self.size.width
        x = self.norm(self.node("Add", x, self.attention(x, mask)))
        inner = self.gelu(self.linear(x, width, 4 * width))
        return self.norm(self.node("Add", x, self.linear(inner, 4 * width, width)))

    def model(self) -> onnx.ModelProto:
        batch, length, _ = self.shape
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        mask = "mask" if self.size.causal else None
        if mask is not None:
            inputs.append(
                helper.make_tensor_value_info(mask, TensorProto.FLOAT, [batch, 1, length, length])
            )
        x = "x"
        for _ in range(self.size.layers):
            x = self.layer(x, mask)
        self.nodes.append(helper.make_node("Identity", [x], ["y"]))
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, "encoder", inputs, [out], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def inputs_of(size: Size) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((size.batch, size.length, size.width)).astype("float32")
    if not size.causal:
        return [x]
    later = np.triu(np.full((size.length, size.length), -1e9, "float32"), 1)
    return [x, np.broadcast_to(later, (size.batch, 1, *later.shape)).copy()]


SIZES: dict[str, Size] = {
    "tiny 2x128, 32 tokens": Size(2, 128, 2, 1, 32),
    "small 4x512, 128 tokens": Size(4, 512, 8, 1, 128),
    "base 12x768, 16 tokens": Size(12, 768, 12, 1, 16),
    "base 12x768, 128 tokens": Size(12, 768, 12, 1, 128),
    "base 12x768, 4 x 32 tokens, causal": Size(12, 768, 12, 4, 32, True),
    "base 12x768, 384 tokens": Size(12, 768, 12, 1, 384),
}


def compare(name: str, made: onnx.ModelProto, inputs: list[np.ndarray]) -> None:
    """Print seconds of compilation, the fastest of runs in turns, and the ratio."""
    start = time.perf_counter()
    a = ours(made, inputs)
    compiled = time.perf_counter() - start
    b = theirs(made, inputs)
    found, wanted = a().numpy(), b()[0]
    error = float(np.max(np.abs(found - wanted)) / max(1e-6, float(np.max(np.abs(wanted)))))
    rounds = max(7, min(200, int(2 / max(timed(a) + timed(b), 1e-6))))
    both = [(timed(a), timed(b)) for _ in range(rounds)]
    mine, other = (min(column) * 1e3 for column in zip(*both))
    print(f"{name:44} {compiled:9.1f} {mine:9.3f} {other:9.3f} {mine / other:7.2f} {error:9.1e}",
          flush=True)  # fmt: skip


def main(words: list[str]) -> None:
    print(f"threads: {THREADS}")
    print(f"{'':44} {'compile s':>9} {'tvm ms':>9} {'ort ms':>9} {'ratio':>7} {'error':>9}")
    for name, size in SIZES.items():
        for form, batch, length in (("fixed", size.batch, size.length), ("symbolic", "b", "n")):
            full = f"{name}, {form}"
            if not words or any(word in full for word in words):
                compare(full, Encoder(size, batch, length).model(), inputs_of(size))


if __name__ == "__main__":
    main(sys.argv[1:])
