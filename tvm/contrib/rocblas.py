"""Matrix products of rocBLAS as stages of tensor expressions."""

from __future__ import annotations

from .blas_stages import products_of

matmul, batch_matmul = products_of("rocblas", named=False)
