"""Matrix products of Intel's MKL as stages of tensor expressions."""

from __future__ import annotations

from typing import Any

from tvm import te

from .blas_stages import batch_matmul_stage, matmul_stage


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, **kwargs: Any
) -> te.Tensor:
    """`lhs @ rhs` of two matrices, either transposed before: a call of the library."""
    return matmul_stage("tvm.contrib.mkl.matmul", lhs, rhs, transa, transb, **kwargs)


def batch_matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False,
    iterative: bool = False, **kwargs: Any,
) -> te.Tensor:  # fmt: skip
    """`lhs[b] @ rhs[b]` for every b; `iterative` asks the library for one product at a time."""
    name = "tvm.contrib.mkl.batch_matmul" + ("_iterative" if iterative else "")
    return batch_matmul_stage(name, lhs, rhs, transa, transb, **kwargs)


def matmul_u8s8s32(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, **kwargs: Any
) -> te.Tensor:
    """`lhs @ rhs` of uint8 and int8, summed in int32: a call of the library."""
    return matmul_stage(
        "tvm.contrib.mkl.matmul_u8s8s32", lhs, rhs, transa, transb, **kwargs
    )
