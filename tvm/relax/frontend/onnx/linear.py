"""Linear algebra."""

from __future__ import annotations

import numpy as np

from tvm.relax import op
from tvm.relax.expr import Constant

from .node import Node
from .registry import Result, convert


@convert("MatMul")
def matmul(node: Node) -> Result:
    return op.matmul(node[0], node[1])


@convert("Gemm")
def gemm(node: Node) -> Result:
    """alpha * A @ B + beta * C, with A and B perhaps transposed."""
    a, b, c = node[0], node[1], node.optional(2)
    if node.attr("transA", 0):
        a = op.permute_dims(a)
    if node.attr("transB", 0):
        b = op.permute_dims(b)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    result = op.matmul(a, b)
    if alpha != 1.0:
        result = op.multiply(result, Constant(np.asarray(alpha, node.dtype())))
    if c is None or beta == 0.0:
        return result
    if beta != 1.0:
        c = op.multiply(c, Constant(np.asarray(beta, node.dtype())))
    return op.add(result, c)


@convert("Einsum")
def einsum(node: Node) -> Result:
    return op.einsum([node[i] for i in range(len(node.inputs))], node.attr("equation"))
