"""Linear algebra."""

from __future__ import annotations

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.tir.expr import IntImm

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


@convert("Det")
def determinant(node: Node) -> Result:
    """(..., n, n) -> (...): Gauss's elimination, the row with the largest head first."""
    *outer, rows, columns = node.shape(0)
    known = isinstance(rows, IntImm) and isinstance(columns, IntImm)
    if not known or int(rows) != int(columns):  # type: ignore[call-overload]
        raise node.invalid("the matrices", f"{rows} x {columns}", "n x n, where n is a number")
    bb, size = node.bb, int(rows)  # type: ignore[call-overload]
    matrix = bb.emit(op.reshape(node[0], [-1, size, size]))
    one = Constant(np.ones((), node.dtype(0)))
    total: RelaxExpr = one
    for left in range(size, 0, -1):
        heads = bb.emit(op.abs(op.strided_slice(matrix, [2], [0], [1])))
        place = bb.emit(op.argmax(heads, 1, keepdims=True))  # (batch, 1, 1)
        numbers = Constant(np.arange(left, dtype=np.int64).reshape(1, left, 1))
        mark = bb.emit(op.astype(op.equal(numbers, place), node.dtype(0)))  # (batch, left, 1)
        pivot = bb.emit(op.sum(op.multiply(matrix, mark), [1], keepdims=True))
        first = op.strided_slice(matrix, [1], [0], [1])
        # the first row goes where the pivot's row was, which turns the sign unless they are one
        moved = bb.emit(op.add(matrix, op.multiply(mark, op.subtract(first, pivot))))
        head = bb.emit(op.strided_slice(pivot, [2], [0], [1]))
        is_first = op.equal(place, Constant(np.asarray(0, np.int64)))
        sign = bb.emit(op.where(is_first, one, op.negative(one)))
        total = bb.emit(op.multiply(total, bb.emit(op.multiply(head, sign))))
        if left == 1:
            break
        rest = bb.emit(op.strided_slice(moved, [1], [1], [left]))
        zero = Constant(np.zeros((), node.dtype(0)))
        divisor = op.where(op.equal(head, zero), one, head)
        factor = op.divide(op.strided_slice(rest, [2], [0], [1]), divisor)
        cleared = bb.emit(op.subtract(rest, op.multiply(bb.emit(factor), pivot)))
        matrix = bb.emit(op.strided_slice(cleared, [2], [1], [left]))
    return op.reshape(total, outer)


@convert("Einsum")
def einsum(node: Node) -> Result:
    equation = node.attr("equation")
    if not isinstance(equation, str):
        raise node.invalid("equation", equation, "text such as 'ij,jk->ik'")
    return op.einsum([node[i] for i in range(len(node.inputs))], equation)
