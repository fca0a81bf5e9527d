"""Products of stacks of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute, is_one, known, same_extent

from .dense import check_inner

_LETTER = {True: "T", False: "N"}


@explained
def batch_matmul(
    tensor_a: te.Tensor,
    tensor_b: te.Tensor,
    oshape: Sequence[Any] | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:
    """A product for each batch; a batch of one is repeated.   (b, m, k), (b, n, k) -> (b, m, n)"""
    if tensor_a.ndim != 3 or tensor_b.ndim != 3:
        raise ShapeError(
            message(
                "tensor_a only support 3-dim",
                found=f"{tensor_a.ndim} and {tensor_b.ndim} dimensions",
                where="batch_matmul",
                legal="3 dimensions each",
            )
        )
    dtype = tensor_a.dtype if out_dtype is None else out_dtype
    shape_b = meta_schedule_original_shape or tensor_b.shape
    batch_a, batch_b = tensor_a.shape[0], shape_b[0]
    inner, m = tensor_a.shape[1:] if transpose_a else tensor_a.shape[1:][::-1]
    n, other = shape_b[1:] if transpose_b else shape_b[1:][::-1]
    check_inner("batch_matmul", inner, other)
    one = is_one(batch_a) or is_one(batch_b)
    if known(batch_a) and known(batch_b) and not (one or same_extent(batch_a, batch_b)):
        raise ShapeError(
            message(
                "batch dimension doesn't match",
                found=f"{batch_a} and {batch_b}",
                where="batch_matmul",
                legal="equal extents, or one of them 1",
            )
        )
    k = te.reduce_axis((0, inner), name="k")

    def element(b: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        left = tensor_a(0 if is_one(batch_a) else b, *((k, i) if transpose_a else (i, k)))
        right = tensor_b(0 if is_one(batch_b) else b, *((j, k) if transpose_b else (k, j)))
        value: PrimExpr = te.sum(left.astype(dtype) * right.astype(dtype), axis=k)
        return value

    return compute(
        (batch_b if is_one(batch_a) else batch_a, m, n) if oshape is None else tuple(oshape),
        element,
        name=f"T_batch_matmul_{_LETTER[bool(transpose_a)]}{_LETTER[bool(transpose_b)]}",
        tag="batch_matmul",
        attrs={"layout_free_placeholders": [tensor_b]},
    )
