"""Matrix products of cuBLAS as stages of tensor expressions."""

from __future__ import annotations

from typing import Any

from tvm import te

from .blas_stages import batch_matmul_stage, matmul_stage


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, dtype: Any = None
) -> te.Tensor:
    """`lhs @ rhs` of two matrices, either transposed before: a call of the library."""
    dtype = lhs.dtype if dtype is None else dtype
    return matmul_stage(
        "tvm.contrib.cublas.matmul", lhs, rhs, transa, transb, dtype=dtype
    )


def batch_matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, dtype: Any = None
) -> te.Tensor:
    """`lhs[b] @ rhs[b]` for every b."""
    dtype = lhs.dtype if dtype is None else dtype
    return batch_matmul_stage(
        "tvm.contrib.cublas.batch_matmul", lhs, rhs, transa, transb, dtype=dtype
    )
