"""Matrix products of cuBLASLt as stages of tensor expressions."""

from __future__ import annotations

from typing import Any

from tvm import te

from .blas_stages import matmul_stage


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False,
    n: Any = 0, m: Any = 0, dtype: Any = None,
) -> te.Tensor:  # fmt: skip
    """`lhs @ rhs` of two matrices, either transposed before: a call of the library.

    `n` and `m`, where they are not 0, are the extents of the result.
    """
    function, dtype = "tvm.contrib.cublaslt.matmul", dtype or lhs.dtype
    return matmul_stage(function, lhs, rhs, transa, transb, extents=(n, m), dtype=dtype)
