"""Sorting and searching."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import TupleType, Type
from tvm.relax import op as R
from tvm.relay.expr import Call, TupleWrapper
from tvm.relay.ty import TensorType

from .declare import (
    ATTRS_CLASSES,
    REQUIRED,
    Expr,
    Relate,
    constant_ints,
    dynamic,
    is_open,
    relay_op,
    topi,
)
from .relations import along_axis, axis_of, choice, extents, tensor


def _argsort_type(ctx: Relate) -> Type | None:
    x = along_axis(ctx)
    return None if x is None else TensorType(x.shape, ctx.attrs.dtype)


@relay_op("sort", "SortAttrs", operands=("data",), relation=along_axis, level=6,
          optional={"is_ascend": True, "dtype": "int32"},
          lower=lambda bb, x, *, axis, is_ascend, dtype: R.sort(x, axis, not is_ascend)
          )  # fmt: skip
def sort(data: Expr, axis: int = -1, is_ascend: Any = 1) -> Call:
    """The values along an axis in order."""
    return sort.call(data, axis=axis, is_ascend=bool(is_ascend))


@relay_op("argsort", "ArgsortAttrs", operands=("data",),
          optional={"is_ascend": True, "dtype": ""}, relation=_argsort_type, level=6,
          lower=lambda bb, x, *, axis, is_ascend, dtype: R.argsort(x, axis, not is_ascend, dtype)
          )  # fmt: skip
def argsort(data: Expr, axis: int = -1, is_ascend: Any = 1, dtype: str = "int32") -> Call:
    """The indices of the values along an axis, in the order of the values."""
    return argsort.call(data, axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


def _topk_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    choice(ctx, "ret_type", "both", "values", "indices")
    dims, o = extents(x), ctx.attrs
    axis = axis_of(ctx, int(o.axis), len(dims))
    if int(o.k) >= 1:
        dims[axis] = int(o.k)
    values, indices = TensorType(dims, x.dtype), TensorType(dims, o.dtype)
    if o.ret_type == "both":
        return TupleType([values, indices])
    return values if o.ret_type == "values" else indices


@relay_op("topk", "TopkAttrs", operands=("data",),
          optional={"k": REQUIRED, "dtype": ""}, relation=_topk_type, level=6,
          lower=lambda bb, x, *, k, axis, ret_type, is_ascend, dtype: R.topk(
              x, k, axis, ret_type, not is_ascend, dtype))  # fmt: skip
def topk(
    data: Expr, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False,
    dtype: str = "int32",
) -> Any:  # fmt: skip
    """The `k` greatest (or least) values along an axis, and their indices."""
    if is_open(k):
        attrs = ATTRS_CLASSES["TopkAttrs"](
            k=None, axis=axis, ret_type=ret_type, is_ascend=bool(is_ascend), dtype=dtype
        )
        open_call = dynamic("dyn.topk", attrs, data, k)
        return TupleWrapper(open_call, 2) if ret_type == "both" else open_call
    k = constant_ints(k)[0]  # type: ignore[index]
    made = topk.call(
        data, k=int(k), axis=axis, ret_type=ret_type, is_ascend=bool(is_ascend), dtype=dtype
    )
    return TupleWrapper(made, 2) if ret_type == "both" else made


def _search_type(ctx: Relate) -> Type | None:
    values = tensor(ctx, 1)
    return None if values is None else TensorType(values.shape, ctx.attrs.dtype)


@relay_op("searchsorted", "SearchSortedAttrs", operands=("sorted_sequence", "values"), level=6,
          relation=_search_type,
          lower=lambda bb, s, v, *, right, dtype: bb.call_te(
              topi.searchsorted, s, v, right, dtype))  # fmt: skip
def searchsorted(
    sorted_sequence: Expr, values: Expr, right: bool = False, dtype: str = "int32"
) -> Call:
    """Where values would go in sorted rows."""
    return searchsorted.call(sorted_sequence, values, right=right, dtype=dtype)


__all__ = ["argsort", "searchsorted", "sort", "topk"]
