"""Weights that are mostly zeros, as blocks that are not (block sparse rows).

A matrix (o, k) in blocks of (r, c) becomes entries (n, r, c), the block columns of them (n,), and
for each block row where its entries start, and where the last ones end (o / r + 1,).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call, Constant, Var
from tvm.relay.traverse import post_order
from tvm.runtime import tensor

Parts = tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


class SparseAnalysisResult(NamedTuple):
    """The weights that are blocks now, and the five extents of the parts of each."""

    weight_name: list[str]
    weight_shape: list[list[int]]


def block_sparse(matrix: np.ndarray[Any, Any], block: Any) -> Parts:
    """The blocks of a matrix that are not zero: entries, columns, starts of rows."""
    rows, columns = int(block[0]), int(block[1])
    height, width = matrix.shape
    if height % rows or width % columns:
        raise TVMError(
            message("block_sparse: the blocks do not cover the matrix",
                    found=f"{matrix.shape} in blocks of ({rows}, {columns})",
                    legal="extents that the blocks divide")
        )  # fmt: skip
    blocks = matrix.reshape(height // rows, rows, width // columns, columns).transpose(0, 2, 1, 3)
    kept = blocks.any(axis=(2, 3))
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype("int32")
    return np.ascontiguousarray(blocks[kept]), np.nonzero(kept)[1].astype("int32"), starts


def sparsity(matrix: np.ndarray[Any, Any]) -> float:
    """The share of zeros."""
    return 1.0 - np.count_nonzero(matrix) / matrix.size


def weight_names(expr: RelaxExpr, op_name: str) -> list[str]:
    """The variables that are weights of an operator, in the order of their first use."""
    op = Op.get(op_name)
    found: dict[str, None] = {}
    for call in post_order(expr):
        if isinstance(call, Call) and call.op is op and isinstance(call.args[1], Var):
            found[call.args[1].name_hint] = None
    return list(found)


def process(
    names: Iterable[str], params: dict[str, Any], block: Any, threshold: float, as_matrix: Any
) -> SparseAnalysisResult:
    """Give the parameters of these names as blocks, where enough of them is zero.

    `params` changes: `w` becomes `w.data`, `w.indices` and `w.indptr`. The result has the names,
    and the five extents of those three.
    """
    result = SparseAnalysisResult([], [])
    for name in names:
        if name not in params:
            continue
        matrix = as_matrix(params[name].numpy())
        if sparsity(matrix) < threshold:
            continue
        parts = block_sparse(matrix, block)
        del params[name]
        for kind, part in zip(("data", "indices", "indptr"), parts):
            params[f"{name}.{kind}"] = tensor(part)
        result.weight_name.append(name)
        result.weight_shape.append([extent for part in parts for extent in part.shape])
    return result


def kernel_matrix(weight: np.ndarray[Any, Any], layout: str, kernel_size: int) -> Any:
    """The kernel of a convolution as a matrix (o, kh * kw * c), for data of `layout`."""
    if layout == "NHWC":  # HWIO
        made = weight.transpose(3, 0, 1, 2)
    elif layout == "NCHW":  # OIHW
        made = weight.transpose(0, 2, 3, 1)
    else:
        raise TVMError(f"sparse convolutions: layout {layout!r}; legal: NHWC, NCHW")
    if made.shape[1:3] != (kernel_size, kernel_size):
        raise TVMError(
            f"sparse convolutions: a kernel of {made.shape[1:3]}; legal: {kernel_size} by "
            f"{kernel_size}, as kernel_size says"
        )
    return np.ascontiguousarray(made.reshape(made.shape[0], -1))


def constant_parts(parts: Parts) -> list[Constant]:
    """The parts as constants of a program."""
    return [Constant(part) for part in parts]
