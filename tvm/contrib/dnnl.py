"""Matrix products of oneDNN as stages of tensor expressions."""

from __future__ import annotations

from typing import Any

from tvm import te

from .blas_stages import matmul_stage


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, **kwargs: Any
) -> te.Tensor:
    """`lhs @ rhs` of two matrices, either transposed before: a call of the library."""
    return matmul_stage("tvm.contrib.dnnl.matmul", lhs, rhs, transa, transb, **kwargs)
