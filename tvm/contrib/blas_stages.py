"""Matrix products of BLAS libraries as stages of tensor expressions.

Each library's module (`cblas`, `mkl`, `cublas`, ...) says which packed function a stage calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir

Product = Callable[..., te.Tensor]


def matmul_stage(
    function: str, lhs: te.Tensor, rhs: te.Tensor, transa: bool, transb: bool, *more: Any,
    name: str = "C", extents: tuple[Any, Any] = (0, 0), **kwargs: Any,
) -> te.Tensor:  # fmt: skip
    """`lhs @ rhs` of two matrices, either transposed before: a call of `function`.

    Shapes: lhs (n, k), or (k, n) with `transa`; rhs (k, m), or (m, k) with `transb`; result (n, m),
    or what `extents` says where it is not 0.
    """
    rows, columns = extents
    if isinstance(rows, int) and rows == 0:
        rows = lhs.shape[1] if transa else lhs.shape[0]
    if isinstance(columns, int) and columns == 0:
        columns = rhs.shape[0] if transb else rhs.shape[1]
    out: te.Tensor = te.extern(
        (rows, columns), [lhs, rhs],
        lambda ins, outs: tir.call_packed(
            function, ins[0], ins[1], outs[0], transa, transb, *more
        ),
        name=name, **kwargs,
    )  # fmt: skip
    return out


def batch_matmul_stage(
    function: str, lhs: te.Tensor, rhs: te.Tensor, transa: bool, transb: bool, *,
    name: str = "C", **kwargs: Any,
) -> te.Tensor:  # fmt: skip
    """`lhs[b] @ rhs[b]` for every b: a call of `function`.

    Shapes as in `matmul_stage`, with the number of matrices in front; one of them may be 1.
    """
    batch = rhs.shape[0] if _is_one(lhs.shape[0]) else lhs.shape[0]
    rows = lhs.shape[2] if transa else lhs.shape[1]
    columns = rhs.shape[1] if transb else rhs.shape[2]
    out: te.Tensor = te.extern(
        (batch, rows, columns), [lhs, rhs],
        lambda ins, outs: tir.call_packed(function, ins[0], ins[1], outs[0], transa, transb),
        name=name, **kwargs,
    )  # fmt: skip
    return out


def products_of(library: str, named: bool = True) -> tuple[Product, Product]:
    """`matmul` and `batch_matmul` of a library for GPUs, whose calls name the result's type.

    Stages have the library's name, if it is `named`.
    """

    def matmul(
        lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False,
        dtype: Any = None,
    ) -> te.Tensor:  # fmt: skip
        """`lhs @ rhs` of two matrices, either transposed before: a call of the library."""
        function, dtype = f"tvm.contrib.{library}.matmul", dtype or lhs.dtype
        name = f"matmul_{library}" if named else "C"
        return matmul_stage(function, lhs, rhs, transa, transb, name=name, dtype=dtype)

    def batch_matmul(
        lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False,
        dtype: Any = None,
    ) -> te.Tensor:  # fmt: skip
        """`lhs[b] @ rhs[b]` for every b."""
        function, dtype = f"tvm.contrib.{library}.batch_matmul", dtype or lhs.dtype
        name = f"batch_matmul_{library}" if named else "C"
        return batch_matmul_stage(function, lhs, rhs, transa, transb, name=name, dtype=dtype)

    return matmul, batch_matmul


def _is_one(extent: Any) -> bool:
    return isinstance(extent, (int, tir.IntImm)) and int(extent) == 1
