"""Tensors of constants, and the sum of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr

from . import tag
from .common import compute, stage


@explained
def elemwise_sum(xs: Sequence[te.Tensor]) -> te.Tensor:
    """The sum of tensors of one shape."""
    if not xs:
        raise ShapeError("topi.elemwise_sum: no tensors are given; legal: at least one")

    def element(*i: Any) -> PrimExpr:
        total: PrimExpr = xs[0](*i)
        for x in xs[1:]:
            total = total + x(*i)
        return total

    return stage(xs[0].shape, element, "T_elemwise_sum", tag.ELEMWISE)


def _fill(value: Any, dtype: Any) -> PrimExpr:
    if isinstance(value, te.Tensor):
        value = value()
    return as_expr(value).astype(dtype)


@explained
def full(shape: Any, dtype: Any, fill_value: Any) -> te.Tensor:
    """A tensor with one value everywhere."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    value = _fill(fill_value, dtype)
    return stage(extents, lambda *i: value, "T_full", tag.ELEMWISE)


@explained
def full_like(x: te.Tensor, fill_value: Any) -> te.Tensor:
    """A tensor with the shape and type of another, one value everywhere."""
    value = _fill(fill_value, x.dtype)
    return stage(x.shape, lambda *i: value, "T_full_like", tag.ELEMWISE)


@explained
def eye(n: Any, m: Any = None, k: Any = 0, dtype: str = "float32") -> te.Tensor:
    """Ones on the k-th diagonal of a matrix, zeros elsewhere."""
    columns = n if m is None else m
    one, zero = tir.const(1, dtype), tir.const(0, dtype)
    return compute(
        (n, columns), lambda i, j: tir.if_then_else(i.equal(j - k), one, zero), name="eye"
    )
