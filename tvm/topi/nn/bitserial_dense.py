"""A dense layer on numbers of a few bits."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.topi.common import check_same, compute

from .bitserial_util import bitpack, product


@explained
def bitserial_dense(
    data: te.Tensor, weight: te.Tensor, data_bits: int, weight_bits: int,
    pack_dtype: str = "uint32", out_dtype: str = "int16", unipolar: bool = True,
) -> te.Tensor:  # fmt: skip
    """(m, k), (n, k) -> (m, n), bit plane by bit plane; a packed weight is (n, bits, words)."""
    packed = bitpack(data, data_bits, 1, 1, pack_dtype)
    kernel = weight if weight.ndim == 3 else bitpack(weight, weight_bits, 1, 1, pack_dtype)
    rows, planes, words = packed.shape
    columns, kernel_planes, other = kernel.shape
    check_same("bitserial_dense", "words of data and weight", words, other)
    k = te.reduce_axis((0, words), name="k")
    db, wb = te.reduce_axis((0, planes), name="db"), te.reduce_axis((0, kernel_planes), name="wb")
    dtype = DataType(out_dtype)

    def element(i: Any, j: Any) -> PrimExpr:
        value = product(packed(i, db, k), kernel(j, wb, k), unipolar, dtype)
        total: PrimExpr = te.sum(tir.shift_left(value, (db + wb).astype(dtype)), axis=[wb, db, k])
        return total

    return compute((rows, columns), element, name="bitserial_dense", tag="bitserial_dense")
