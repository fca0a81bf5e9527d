"""Operators that choose: where, argmax and argmin, buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.extents import broadcast
from tvm.relax.struct_info import TensorStructInfo
from tvm.support.dtype import DataType

from . import layout_moves, layout_rules
from .declare import (
    BROADCAST,
    COMM_REDUCE,
    Array,
    Expr,
    Infer,
    attrs_class,
    relax_op,
    topi,
    whole,
)
from .shapes import broadcast_infos, check_ndim, common_dtype, written
from .statistical import reduced_info

ArgmaxArgminAttrs = attrs_class("ArgmaxArgminAttrs", "axis", "keepdims")
BucketizeAttrs = attrs_class("BucketizeAttrs", "out_int32", "right")
INT64 = DataType("int64")
INT32 = DataType("int32")


@relax_op("relax.where", "condition: Tensor, x1: Tensor, x2: Tensor", pattern=BROADCAST)
def where(condition: ExprLike, x1: ExprLike, x2: ExprLike) -> Call:
    """x1 where the condition (a bool tensor) holds, x2 elsewhere; all three broadcast."""
    return where.call(condition, x1, x2)


@where.infer
def _where_info(
    ctx: Infer, condition: TensorStructInfo, x1: TensorStructInfo, x2: TensorStructInfo
) -> TensorStructInfo:
    if condition.dtype != "bool":  # an unknown dtype too: nothing converts the condition
        raise ctx.dtype_error("condition must be bool", f"{condition.dtype}", "bool")
    dtype = common_dtype(ctx, ("x1", x1), ("x2", x2))
    return broadcast_infos(ctx, dtype, ("condition", condition), ("x1", x1), ("x2", x2))


@where.legalize
def _where_te(bb: BlockBuilder, condition: Expr, x1: Expr, x2: Expr) -> Expr:
    return bb.call_te(topi.where, condition, x1, x2)


where.follow_layout(layout_rules.follow_first)
where.fit(lambda bb, *operands: broadcast(bb, operands))
where.reference(lambda condition, x1, x2: np.where(condition, x1, x2))


def _arg_reduction(name: str, doc: str, reference: Callable[..., Any]) -> Any:
    def build(x: ExprLike, axis: int | None = None, keepdims: bool = False) -> Call:
        return op.call(x, axis=None if axis is None else whole(axis), keepdims=bool(keepdims))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    op = relax_op(f"relax.{name}", "x: Tensor", ArgmaxArgminAttrs, pattern=COMM_REDUCE)(build)

    @op.infer
    def info(
        ctx: Infer, x: TensorStructInfo, *, axis: int | None, keepdims: bool
    ) -> TensorStructInfo:
        return reduced_info(ctx, x, None if axis is None else (axis,), keepdims, INT64)

    @op.legalize
    def te(bb: BlockBuilder, x: Expr, *, axis: int | None, keepdims: bool) -> Expr:
        return _call_te(bb, name, x, lambda te_x: getattr(topi, name)(te_x, axis, keepdims))

    @op.reference
    def numpy(x: Array, *, axis: int | None, keepdims: bool) -> Array:
        return np.asarray(reference(x, axis=axis, keepdims=keepdims)).astype(np.int64)

    return op


def _call_te(bb: BlockBuilder, name: str, x: Expr, search: Callable[[Any], Any]) -> Expr:
    def compute(te_x: Any) -> Any:
        index = search(te_x)
        return index if index.dtype == "int64" else topi.cast(index, "int64")

    return bb.call_te(compute, x, primfunc_name_hint=name)


def _always_found(largest: bool) -> Callable[[BlockBuilder, Call], Expr]:
    name = "argmax" if largest else "argmin"

    def rule(bb: BlockBuilder, call: Call) -> Expr:
        attrs: Any = call.attrs
        axis = None if attrs.axis is None else int(attrs.axis)
        keepdims = bool(attrs.keepdims)

        def search(x: Any) -> Any:
            return topi.reduction.index_of_extreme(x, axis, keepdims, largest)

        return _call_te(bb, name, call.args[0], search)

    return rule


# For `LegalizeOps` where kernels are for programs that run: TVM's own give -1 for a row of nothing
# but the worst value (zeros of uint8, False, infinities).
ALWAYS_FOUND: Final = {
    "relax.argmax": _always_found(largest=True), "relax.argmin": _always_found(largest=False),
}  # fmt: skip

argmax = _arg_reduction("argmax", "Where the largest element is along `axis`, as int64.",
                        np.argmax)  # fmt: skip
argmin = _arg_reduction("argmin", "Where the smallest element is along `axis`, as int64.",
                        np.argmin)  # fmt: skip


@relax_op("relax.bucketize", "input_tensor: Tensor, boundaries: Tensor", BucketizeAttrs)
def bucketize(
    input_tensor: ExprLike, boundaries: ExprLike, out_int32: bool = False, right: bool = False
) -> Call:
    """The bucket of each element between sorted boundaries.   (n, m), (k,) -> (n, m)"""
    return bucketize.call(input_tensor, boundaries, out_int32=out_int32, right=right)


@bucketize.infer
def _bucketize_info(
    ctx: Infer,
    input_tensor: TensorStructInfo,
    boundaries: TensorStructInfo,
    *,
    out_int32: bool,
    right: bool,
) -> TensorStructInfo:
    check_ndim(ctx, "boundaries", boundaries, 1)
    dtype = INT32 if out_int32 else INT64
    return written(input_tensor, dtype)


@bucketize.legalize
def _bucketize_te(
    bb: BlockBuilder, input_tensor: Expr, boundaries: Expr, *, out_int32: bool, right: bool
) -> Expr:
    dtype = "int32" if out_int32 else "int64"
    return bb.call_te(
        topi.searchsorted, boundaries, input_tensor, right, dtype, primfunc_name_hint="bucketize"
    )


@bucketize.reference
def _bucketize_numpy(
    input_tensor: Array, boundaries: Array, *, out_int32: bool, right: bool
) -> Array:
    found = np.searchsorted(boundaries, input_tensor, side="right" if right else "left")
    return found.astype(np.int32 if out_int32 else np.int64)


argmax.follow_layout(layout_moves.searched)
argmin.follow_layout(layout_moves.searched)
bucketize.follow_layout(layout_moves.filled_like)
