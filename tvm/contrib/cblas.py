"""Matrix products of a BLAS library as stages of tensor expressions."""

from __future__ import annotations

from typing import Any

from tvm import te, tir


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, **kwargs: Any
) -> te.Tensor:
    """`lhs @ rhs` of two matrices, either transposed before: a call of the library.

    Shapes: lhs (n, k), or (k, n) with `transa`; rhs (k, m), or (m, k) with `transb`; result (n, m).
    """
    rows = lhs.shape[1] if transa else lhs.shape[0]
    columns = rhs.shape[0] if transb else rhs.shape[1]
    out: te.Tensor = te.extern(
        (rows, columns),
        [lhs, rhs],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], transa, transb
        ),
        name="C",
        **kwargs,
    )
    return out


def batch_matmul(
    lhs: te.Tensor,
    rhs: te.Tensor,
    transa: bool = False,
    transb: bool = False,
    iterative: bool = False,
    **kwargs: Any,
) -> te.Tensor:
    """`lhs[b] @ rhs[b]` for every b; `iterative` asks the library for one product at a time.

    Shapes as in `matmul`, with the number of matrices in front; one of them may be 1.
    """
    batch = rhs.shape[0] if _is_one(lhs.shape[0]) else lhs.shape[0]
    rows = lhs.shape[2] if transa else lhs.shape[1]
    columns = rhs.shape[1] if transb else rhs.shape[2]
    name = "tvm.contrib.cblas.batch_matmul" + ("_iterative" if iterative else "")
    out: te.Tensor = te.extern(
        (batch, rows, columns),
        [lhs, rhs],
        lambda ins, outs: tir.call_packed(name, ins[0], ins[1], outs[0], transa, transb),
        name="C",
        **kwargs,
    )
    return out


def _is_one(extent: Any) -> bool:
    return isinstance(extent, (int, tir.IntImm)) and int(extent) == 1
