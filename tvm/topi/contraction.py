"""Products summed over shared axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from .common import known, same_extent, stage
from .utils import normal_axis

MATMUL_TAG = "matmul"


@explained
def matmul(a: te.Tensor, b: te.Tensor, transp_a: bool = False, transp_b: bool = False) -> te.Tensor:
    """The product of two matrices.   (m, k), (k, n) -> (m, n)"""
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(
            message("topi.matmul", found=f"{a.ndim} and {b.ndim} dimensions", legal="two matrices")
        )
    m, inner = a.shape[::-1] if transp_a else a.shape
    other, n = b.shape[::-1] if transp_b else b.shape
    _same_inner("topi.matmul", inner, other)
    k = te.reduce_axis((0, inner), "k")

    def element(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        left = a(k, i) if transp_a else a(i, k)
        right = b(j, k) if transp_b else b(k, j)
        value: PrimExpr = te.sum(left * right, axis=k)
        return value

    return stage([m, n], element, "T_matmul", MATMUL_TAG)


def _same_inner(what: str, left: Any, right: Any) -> None:
    if known(left) and known(right) and not same_extent(left, right):
        raise ShapeError(
            message(
                f"{what}: the extents that are summed over",
                found=f"{left} and {right}",
                legal="equal extents",
            )
        )


@explained
def tensordot(a: te.Tensor, b: te.Tensor, axes: Any) -> te.Tensor:
    """Products summed over axes: the last n of a and first n of b, or pairs of axes."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"topi.tensordot: {axes} axes of tensors of {a.ndim} and {b.ndim} dimensions; "
                f"legal: 0 to {min(a.ndim, b.ndim)}"
            )
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = (_axis_list(x, t.ndim) for x, t in zip(axes, (a, b)))
    if len(left) != len(right):
        raise ShapeError(
            f"topi.tensordot: {len(left)} axes of a, {len(right)} of b; legal: as many of each"
        )
    for x, y in zip(left, right):
        _same_inner("topi.tensordot", a.shape[x], b.shape[y])
    free_a = [x for x in range(a.ndim) if x not in left]
    free_b = [x for x in range(b.ndim) if x not in right]
    shape = [a.shape[x] for x in free_a] + [b.shape[x] for x in free_b]
    summed = [te.reduce_axis((0, a.shape[x]), f"k{i}") for i, x in enumerate(left)]

    def element(*i: Any) -> PrimExpr:
        own_a: list[Any] = [None] * a.ndim
        own_b: list[Any] = [None] * b.ndim
        for x, index in zip(free_a, i):
            own_a[x] = index
        for x, index in zip(free_b, i[len(free_a) :]):
            own_b[x] = index
        for x, y, k in zip(left, right, summed):
            own_a[x], own_b[y] = k, k
        product = a(*own_a) * b(*own_b)
        value: PrimExpr = te.sum(product, axis=summed) if summed else product
        return value

    return stage(shape, element, "T_tensordot", MATMUL_TAG)


def _axis_list(axes: Any, ndim: int) -> list[int]:
    several: Sequence[Any] = axes if isinstance(axes, (tuple, list)) else [axes]
    return [normal_axis(x, ndim, "topi.tensordot") for x in several]
