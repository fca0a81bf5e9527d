"""`tvm.contrib.cblas.*`: matrix products of a BLAS library, by name (numpy's, usually OpenBLAS)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.error import ShapeError, message
from tvm.ffi import register_global_func

from ._tensor import Tensor, host_view


def _operand(source: Tensor, transposed: bool) -> Any:
    view = host_view(source)
    return np.swapaxes(view, -1, -2) if transposed else view


def _product(what: str, lhs: Any, rhs: Any, out: Tensor) -> None:
    result = host_view(out)
    batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    wanted = (*batch, lhs.shape[-2], rhs.shape[-1])
    if lhs.shape[-1] != rhs.shape[-2] or result.shape != wanted:
        raise ShapeError(
            message(
                f"tvm.contrib.cblas.{what}",
                found=f"lhs {lhs.shape}, rhs {rhs.shape} (as multiplied), output {result.shape}",
                legal=f"equal inner dimensions and an output of shape {wanted}",
            )
        )
    np.matmul(lhs, rhs, out=result, casting="same_kind")


@register_global_func("tvm.contrib.cblas.matmul", override=True)
def matmul(lhs: Tensor, rhs: Tensor, out: Tensor, transa: bool, transb: bool, *_: Any) -> None:
    """`out = lhs @ rhs` of two matrices, either transposed before."""
    _product("matmul", _operand(lhs, bool(transa)), _operand(rhs, bool(transb)), out)


@register_global_func("tvm.contrib.cblas.batch_matmul", override=True)
def batch_matmul(
    lhs: Tensor, rhs: Tensor, out: Tensor, transa: bool, transb: bool, *_: Any
) -> None:
    """`out[b] = lhs[b] @ rhs[b]`; an operand with one matrix serves all."""
    _product("batch_matmul", _operand(lhs, bool(transa)), _operand(rhs, bool(transb)), out)


# One product after another or all at once: numpy chooses.
batch_matmul_iterative = register_global_func(
    "tvm.contrib.cblas.batch_matmul_iterative", batch_matmul, override=True
)
