"""Batches of vectors from batches of anything."""

from __future__ import annotations

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute, unravel


@explained
def flatten(data: te.Tensor) -> te.Tensor:
    """All dimensions but the first as one.   (n, a, b, ...) -> (n, a * b * ...)"""
    if data.ndim == 0:
        raise ShapeError(
            message("topi.nn.flatten", found="a tensor of rank 0", legal="at least 1 dimension")
        )
    size: PrimExpr = tir.const(1, "int32")
    for extent in data.shape[1:]:
        size = size * extent

    def element(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return data(i, *unravel(j, data.shape[1:]))

    return compute([data.shape[0], size], element, tag=tag.INJECTIVE)
