"""Sorting along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo, const_int
from tvm.support.dtype import DataType

from . import layout_moves
from .declare import Array, Expr, Infer, OptionError, attrs_class, relax_op, topi, whole
from .shapes import axis_index, like, with_dtype

SortAttrs = attrs_class("SortAttrs", "axis", "descending")
ArgsortAttrs = attrs_class("ArgsortAttrs", "axis", "descending", "dtype")
TopKAttrs = attrs_class("TopKAttrs", "k", "axis", "ret_type", "largest", "dtype")
RET_TYPES = ("both", "values", "indices")


@relax_op("relax.sort", "data: Tensor", SortAttrs)
def sort(x: ExprLike, axis: int = -1, descending: bool = False) -> Call:
    """The elements in order along `axis`."""
    return sort.call(x, axis=whole(axis), descending=bool(descending))


@sort.infer
def _sort_info(
    ctx: Infer, data: TensorStructInfo, *, axis: int, descending: bool
) -> TensorStructInfo:
    if data.ndim != -1:
        axis_index(ctx, axis, data.ndim)
    return data


@sort.legalize
def _sort_te(bb: BlockBuilder, data: Expr, *, axis: int, descending: bool) -> Expr:
    return bb.call_te(topi.sort, data, axis, not descending)


@sort.reference
def _sort_numpy(data: Array, *, axis: int, descending: bool) -> Array:
    found = np.sort(data, axis=axis)
    return np.flip(found, axis) if descending else found


@relax_op("relax.argsort", "data: Tensor", ArgsortAttrs)
def argsort(
    data: ExprLike, axis: int = -1, descending: bool = False, dtype: DataType | str = "int32"
) -> Call:
    """The indices that put the elements in order along `axis`."""
    return argsort.call(data, axis=whole(axis), descending=bool(descending), dtype=DataType(dtype))


@argsort.infer
def _argsort_info(
    ctx: Infer, data: TensorStructInfo, *, axis: int, descending: bool, dtype: DataType
) -> TensorStructInfo:
    if data.ndim != -1:
        axis_index(ctx, axis, data.ndim)
    return with_dtype(data, dtype)


@argsort.legalize
def _argsort_te(
    bb: BlockBuilder, data: Expr, *, axis: int, descending: bool, dtype: DataType
) -> Expr:
    return bb.call_te(
        topi.argsort, data, axis=axis, is_ascend=not descending, dtype=str(dtype)
    )


def _order(data: Array, axis: int, descending: bool) -> Array:
    if descending:  # equal elements keep their order in both directions
        flipped = np.flip(data, axis)
        order = np.argsort(flipped, axis=axis, kind="stable")
        return np.flip(data.shape[axis] - 1 - order, axis)
    return np.argsort(data, axis=axis, kind="stable")


@argsort.reference
def _argsort_numpy(data: Array, *, axis: int, descending: bool, dtype: DataType) -> Array:
    return _order(data, axis, descending).astype(numpy_dtype(dtype))


@relax_op("relax.topk", "data: Tensor", TopKAttrs)
def topk(
    data: ExprLike,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: DataType | str = "int32",
) -> Call:
    """The `k` largest (or smallest) elements along `axis` in order, their indices, or both."""
    if ret_type not in RET_TYPES:
        raise OptionError(f"topk: ret_type is {ret_type!r}; legal: {', '.join(RET_TYPES)}")
    return topk.call(
        data, k=whole(k, "k"), axis=whole(axis), ret_type=ret_type, largest=bool(largest),
        dtype=DataType(dtype),
    )  # fmt: skip


@topk.infer
def _topk_info(
    ctx: Infer,
    data: TensorStructInfo,
    *,
    k: int,
    axis: int,
    ret_type: str,
    largest: bool,
    dtype: DataType,
) -> StructInfo:
    values = None
    if data.ndim != -1:
        at = axis_index(ctx, axis, data.ndim)
        if data.values is not None:
            extents: list[PrimExpr | int] = list(data.values)
            size = const_int(data.values[at])
            if size is not None and k > size:
                raise ctx.shape_error("k exceeds the extent of the axis", f"k={k}", f"k <= {size}")
            if k > 0:
                extents[at] = k
            values = like(data, extents).values  # type: ignore[arg-type]
    first = like(data, values, data.ndim)
    second = like(data, values, data.ndim, dtype)
    if ret_type == "both":
        return TupleStructInfo((first, second))
    return first if ret_type == "values" else second


@topk.legalize
def _topk_te(
    bb: BlockBuilder,
    data: Expr,
    *,
    k: int,
    axis: int,
    ret_type: str,
    largest: bool,
    dtype: DataType,
) -> Expr:
    return bb.call_te(
        topi.topk, data, k=k, axis=axis, ret_type=ret_type, is_ascend=not largest, dtype=str(dtype)
    )


@topk.reference
def _topk_numpy(
    data: Array, *, k: int, axis: int, ret_type: str, largest: bool, dtype: DataType
) -> Any:
    order = _order(data, axis, largest)
    if k > 0:
        order = np.take(order, np.arange(k), axis=axis)
    values = np.take_along_axis(data, order, axis)
    indices = order.astype(numpy_dtype(dtype))
    if ret_type == "both":
        return values, indices
    return values if ret_type == "values" else indices


for _declared in (sort, argsort, topk):
    _declared.follow_layout(layout_moves.scanned)
