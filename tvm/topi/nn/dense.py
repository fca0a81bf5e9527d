"""Matrix products with bias, transposed operands and batch dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.broadcast import add
from tvm.topi.common import compute, extents, is_one, known, same_extent
from tvm.topi.math import cast

_LETTER = {True: "T", False: "N"}


def check_inner(what: str, left: Any, right: Any) -> None:
    """Refuse known extents that differ where both are summed over."""
    if known(left) and known(right) and not same_extent(left, right):
        raise ShapeError(
            message(
                f"Reduction dimensions of {what} do not match. {left} vs {right}.",
                legal="equal extents",
            )
        )


def _joined_batch(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    joined = []
    for a, b in zip(left, right):
        if known(a) and known(b) and not (is_one(a) or is_one(b) or same_extent(a, b)):
            raise ShapeError(
                message(
                    "Batch dimensions of dense do not match",
                    found=f"{a} vs {b}",
                    legal="equal extents, or one of them 1",
                )
            )
        joined.append(b if is_one(a) else a)
    return joined


@explained
def matmul(
    tensor_a: te.Tensor,
    tensor_b: te.Tensor,
    bias: te.Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:
    """The product of (stacks of) matrices.   (..., m, k), (..., k, n), (n,) -> (..., m, n)"""
    if tensor_a.ndim < 2 or tensor_b.ndim < 2:
        raise ShapeError(
            message(
                "1-dim matmul is not supported yet.",
                found=f"{tensor_a.ndim} and {tensor_b.ndim} dimensions",
                legal="at least 2 dimensions each",
            )
        )
    if bias is not None and bias.ndim != 1:
        raise ShapeError(f"matmul: a bias of {bias.ndim} dimensions; legal: 1")
    dtype = tensor_a.dtype if out_dtype is None else out_dtype
    shape_b = meta_schedule_original_shape or tensor_b.shape
    inner, m = tensor_a.shape[-2:] if transpose_a else tensor_a.shape[-2:][::-1]
    n, other = shape_b[-2:] if transpose_b else shape_b[-2:][::-1]
    check_inner("dense", inner, other)
    lead = max(tensor_a.ndim, tensor_b.ndim) - 2
    batch_a, batch_b = (
        [1] * (lead + 2 - t.ndim) + list(t.shape[:-2]) for t in (tensor_a, tensor_b)
    )
    k = te.reduce_axis((0, inner), name="k")

    def batch_indices(i: Sequence[Any], tensor: te.Tensor, extents: Sequence[Any]) -> list[Any]:
        own = [0 if is_one(extent) else index for index, extent in zip(i, extents)]
        return own[lead + 2 - tensor.ndim :]

    def element(*at: Any) -> PrimExpr:
        *batch, i, j = at
        a = tensor_a(*batch_indices(batch, tensor_a, batch_a), *((k, i) if transpose_a else (i, k)))
        b = tensor_b(*batch_indices(batch, tensor_b, batch_b), *((j, k) if transpose_b else (k, j)))
        value: PrimExpr = te.sum(a.astype(dtype) * b.astype(dtype), axis=k)
        return value

    shape = (*_joined_batch(batch_a, batch_b), m, n)
    product = compute(
        shape,
        element,
        name=f"T_matmul_{_LETTER[bool(transpose_a)]}{_LETTER[bool(transpose_b)]}",
        tag="dense" if transpose_b and not transpose_a else "matmul",
        attrs={"layout_free_placeholders": [tensor_b]},
    )
    if bias is None:
        return product

    found: te.Tensor = add(product, cast(bias, dtype))
    return found


@explained
def dense(
    data: te.Tensor,
    weight: te.Tensor,
    bias: te.Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:
    """data times the transposed weight, plus bias.   (m, k), (n, k), (n,) -> (m, n)"""
    return matmul(
        data, weight, bias, out_dtype, False, True, auto_scheduler_rewritten_layout,
        meta_schedule_original_shape,
    )  # fmt: skip


@explained
def dense_pack(
    data: te.Tensor, weight: te.Tensor, bias: te.Tensor | None = None, out_dtype: str | None = None
) -> te.Tensor:
    """dense with the weight's rows in blocks.   (m, k), (n / b, k, b) -> (m, n)"""
    dtype = data.dtype if out_dtype is None else out_dtype
    m, inner = extents(data, "mk", "dense_pack")
    blocks, other, size = extents(weight, "nkb", "dense_pack")
    check_inner("dense_pack", inner, other)
    k = te.reduce_axis((0, inner), name="k")

    def element(y: PrimExpr, x: PrimExpr) -> PrimExpr:
        row = weight(tir.indexdiv(x, size), k, tir.indexmod(x, size))
        value: PrimExpr = te.sum(data(y, k).astype(dtype) * row.astype(dtype), axis=k)
        return value

    shape = (m, blocks * size)
    product = compute(shape, element, name="T_dense_pack", tag="dense_pack")
    if bias is None:
        return product
    return compute(shape, lambda i, j: product(i, j) + bias(j).astype(dtype), tag=tag.BROADCAST)
