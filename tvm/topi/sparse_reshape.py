"""The indices of a sparse tensor after a reshape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from . import tag
from .common import stage
from .utils import get_const_int


@explained
def sparse_reshape(
    sparse_indices: te.Tensor, prev_shape: te.Tensor, new_shape: te.Tensor,
    new_sparse_indices_shape: Sequence[Any], new_shape_shape: Sequence[Any],
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """(n, d), (d,), (e,) -> indices (n, e) and the new shape, in which one extent may be -1."""
    before, after = get_const_int(prev_shape.shape[0]), get_const_int(new_shape.shape[0])
    if sparse_indices.ndim != 2 or get_const_int(sparse_indices.shape[1]) != before:
        raise ShapeError(
            f"sparse_reshape: indices of {sparse_indices.ndim} dimensions for {before} extents; "
            "legal: one index for each extent"
        )
    dtype = new_shape.dtype
    whole: PrimExpr = tir.const(1, dtype)
    for k in range(before):
        whole = whole * prev_shape(k).astype(dtype)
    given: PrimExpr = tir.const(1, dtype)
    for k in range(after):
        extent = new_shape(k)
        given = given * tir.Select(extent.equal(-1), tir.const(1, dtype), extent)
    total = stage([1], lambda i: tir.div(whole, given), "sparse_reshape_rest", tag.INJECTIVE)

    def extent_of(k: Any) -> PrimExpr:
        return tir.Select(new_shape(k).equal(-1), total(0), new_shape(k))

    shape = stage(list(new_shape_shape), extent_of, "sparse_reshape_shape", tag.INJECTIVE)

    def element(row: Any, column: Any) -> PrimExpr:
        number: PrimExpr = sparse_indices(row, 0)
        for k in range(1, before):
            number = number * prev_shape(k).astype(number.dtype) + sparse_indices(row, k)
        value: PrimExpr = tir.const(0, number.dtype)
        for k in range(after - 1, -1, -1):
            size = shape(k).astype(number.dtype)
            value = tir.if_then_else(column.equal(k), tir.indexmod(number, size), value)
            number = tir.indexdiv(number, size)
        return value

    indices = stage(list(new_sparse_indices_shape), element, "sparse_reshape", tag.INJECTIVE)
    return indices, shape
