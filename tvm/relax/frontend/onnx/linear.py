"""Linear algebra."""

from __future__ import annotations

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import require_equal
from tvm.relax.frontend import equations
from tvm.relax.shape_math import same_extent

from .node import Node
from .registry import Result, convert


@convert("MatMul")
def matmul(node: Node) -> Result:
    return op.matmul(node[0], node[1])


@convert("Gemm")
def gemm(node: Node) -> Result:
    """alpha * A @ B + beta * C, with A and B perhaps transposed."""
    a, b, c = node[0], node[1], node.optional(2)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if alpha != 1.0:
        a = op.multiply(a, Constant(np.asarray(alpha, node.dtype())))
    if node.attr("transA", 0):
        a = op.permute_dims(a, [1, 0])
    if node.attr("transB", 0):
        b = op.permute_dims(b, [1, 0])
    result = op.matmul(a, b)
    if c is None or beta == 0.0:
        return result
    if beta != 1.0:
        c = op.multiply(c, Constant(np.asarray(beta, node.dtype())))
    return op.add(result, c)


@convert("Det")
def determinant(node: Node) -> Result:
    """(..., n, n) -> (...)."""
    return op.reshape(equations.determinant(node.bb, square(node)), node.shape(0)[:-2])


def square(node: Node) -> RelaxExpr:
    """(batch, n, n) of the first input, checked as the program runs where extents are open."""
    *_, rows, columns = node.shape(0)
    if same_extent(rows, columns) is False:
        raise node.invalid("the matrices", f"{rows} x {columns}", "n x n")
    require_equal(node.bb, columns, rows)
    return equations.flat(node.bb, node[0])


@convert("Einsum")
def einsum(node: Node) -> Result:
    equation = node.attr("equation")
    if not isinstance(equation, str):
        raise node.invalid("equation", equation, "text such as 'ij,jk->ik'")
    return op.einsum([node[i] for i in range(len(node.inputs))], equation)
