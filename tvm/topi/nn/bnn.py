"""Binary neural networks: only signs, 32 of them in a word."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import DTypeError, ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import check_same, compute, extents, known
from tvm.topi.utils import get_const_int, normal_axis


@explained
def binarize_pack(data: te.Tensor, axis: int | None = None, name: str = "PackedInput") -> te.Tensor:
    """Whether elements are at least zero, 32 of them along an axis as one uint32."""
    dim = data.ndim - 1 if axis is None else normal_axis(axis, data.ndim, "binarize_pack")
    extent = data.shape[dim]
    if known(extent) and get_const_int(extent) % 32:
        raise ShapeError(f"binarize_pack: {extent} elements; legal: a multiple of 32")
    shape = [tir.indexdiv(n, 32) if k == dim else n for k, n in enumerate(data.shape)]

    def element(*i: Any) -> PrimExpr:
        packed: PrimExpr = tir.const(0, "uint32")
        for j in range(32):
            at = list(i)
            at[dim] = i[dim] * 32 + j
            sign = (data(*at) >= tir.const(0, data.dtype)).astype("uint32")
            packed = (packed << tir.const(1, "uint32")) | sign
        return packed

    return compute(shape, element, name=name, tag="binarize_pack")


@explained
def binary_dense(data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Products of signs summed: all less twice the differing ones.   (m, k), (n, k) -> (m, n)"""
    if data.dtype != "uint32" or weight.dtype != "uint32":
        raise DTypeError(f"binary_dense: {data.dtype} and {weight.dtype}; legal: uint32")
    batch, words = extents(data, "mk", "binary_dense")
    rows, other = extents(weight, "nk", "binary_dense")
    check_same("binary_dense", "words of data and weight", words, other)
    k = te.reduce_axis((0, words), name="k")

    def differing(i: Any, j: Any) -> PrimExpr:
        total: PrimExpr = te.sum(tir.popcount(data(i, k) ^ weight(j, k)), axis=k)
        return total

    shape = (batch, rows)
    counted = compute(shape, differing, tag="binary_dense")
    size = (words * 32).astype("float32")
    return compute(
        shape, lambda i, j: size - 2.0 * counted(i, j).astype("float32"), tag=tag.ELEMWISE
    )
