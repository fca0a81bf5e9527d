"""Random numbers, drawn as the model runs: `tvm.contrib.random.seed` starts them anew.

The attribute `seed` of a node names a generator that only its own runtime has; it is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.random import FLOATS
from tvm.relax.frontend.random import drawn as drawn_by

from .attributes import dtype_name
from .node import Node
from .registry import Result, convert


def drawn(node: Node, kind: str, numbers: Sequence[float], shape: Any, dtype: str) -> RelaxExpr:
    """Numbers of a type of floats, drawn as the model runs."""
    if dtype not in FLOATS:
        raise node.invalid("dtype", dtype, ", ".join(FLOATS))
    return drawn_by(node.bb, kind, numbers, shape, dtype)


def _numbers(node: Node) -> tuple[str, list[float]]:
    if node.op_type.startswith("RandomNormal"):
        mean, scale = float(node.attr("mean", 0.0)), float(node.attr("scale", 1.0))
        if scale <= 0:
            raise node.invalid("scale", scale, "a number above 0")
        return "normal", [mean, scale]
    low, high = float(node.attr("low", 0.0)), float(node.attr("high", 1.0))
    if low >= high:
        raise node.invalid("low, high", (low, high), "low < high")
    return "uniform", [low, high]


@convert("RandomNormal", "RandomUniform")
def random(node: Node) -> Result:
    """Of a shape that is given."""
    kind, numbers = _numbers(node)
    shape = [int(extent) for extent in node.attr("shape", [])]
    return drawn(node, kind, numbers, shape, dtype_name(int(node.attr("dtype", 1))))


@convert("RandomNormalLike", "RandomUniformLike")
def random_like(node: Node) -> Result:
    """Of the shape of a tensor, and of its type unless one is given."""
    kind, numbers = _numbers(node)
    dtype = dtype_name(int(node.attr("dtype", 0))) or node.dtype(0)
    return drawn(node, kind, numbers, node.shape(0), dtype)


@convert("Multinomial")
def multinomial(node: Node) -> Result:
    """(batch, classes) -> (batch, samples): classes, drawn by their logarithms of probabilities.

    The largest of the logarithms with Gumbel noise is the class (Gumbel 1954).
    """
    batch, classes = node.shape(0)
    count = int(node.attr("sample_size", 1))
    dtype = dtype_name(int(node.attr("dtype", 6)))
    even = drawn(node, "uniform", [1e-20, 1.0], [batch, count, classes], "float32")
    noise = op.negative(op.log(op.negative(op.log(even))))
    scores = op.expand_dims(op.astype(node[0], "float32"), [1])
    return op.astype(op.argmax(op.add(scores, noise), 2), dtype)


@convert("Bernoulli", since=15)
def bernoulli(node: Node) -> Result:
    """1 with the probability that each element gives."""
    dtype = dtype_name(int(node.attr("dtype", 0))) or node.dtype(0)
    even = drawn(node, "uniform", [0.0, 1.0], node.shape(0), "float32")
    hit = op.less(even, op.astype(node[0], "float32"))
    one, zero = (Constant(np.asarray(v, np.float32)) for v in (1, 0))
    return op.astype(op.where(hit, one, zero), dtype)
