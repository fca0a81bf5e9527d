"""Reading and writing at indices that tensors hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, PrimValue, Tuple, TupleGetItem
from tvm.relax.extents import broadcast
from tvm.relax.struct_info import (
    VOID,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)
from tvm.tir.expr import INT64, IntImm

from . import layout_moves
from .declare import (
    INJECTIVE,
    OPAQUE,
    Array,
    Expr,
    Infer,
    as_shape,
    attrs_class,
    listed,
    relax_op,
    show_shape,
    topi,
    whole,
)
from .index import slice_extent
from .manipulate import tensor_fields, tuple_items
from .shapes import axis_index, broadcast_infos, common_dtype, is_one, like, values_of, written

GatherElementsAttrs = attrs_class("GatherElementsAttrs", "axis")
GatherNDAttrs = attrs_class("GatherNDAttrs", "batch_dims")
IndexPutAttrs = attrs_class("IndexPutAttrs", "accumulate")
ScatterElementsAttrs = attrs_class("ScatterElementsAttrs", "axis", "reduction")
ScatterNDAttrs = attrs_class("ScatterNDAttrs", "reduction")
SliceScatterAttrs = attrs_class("SliceScatterAttrs", "axis")
REDUCTIONS = ("update", "add", "mul", "mean", "max", "min")


def _check_indices(ctx: Infer, name: str, info: TensorStructInfo) -> None:
    if info.dtype is not VOID and not info.dtype.is_integer:
        raise ctx.dtype_error(f"{name} must be integers", f"{info.dtype}", "int64, int32")


def _check_same_ndim(ctx: Infer, *infos: tuple[str, TensorStructInfo]) -> int:
    known = [(name, info.ndim) for name, info in infos if info.ndim != -1]
    if len({ndim for _, ndim in known}) > 1:
        raise ctx.shape_error(
            "the numbers of dimensions differ",
            ", ".join(f"{name} {ndim}" for name, ndim in known),
            "one number for all",
        )
    return known[0][1] if known else -1


def _check_within(
    ctx: Infer, data: TensorStructInfo, indices: TensorStructInfo, axis: int
) -> None:
    """Indices lie beside rows of the data, except along the axis in which they pick."""
    for i, (a, b) in enumerate(zip(indices.values or (), data.values or ())):
        if i != axis and ctx.exceeds(a, b):
            raise ctx.shape_error(
                f"indices are longer than data in dimension {i}",
                f"indices {show_shape(indices)}, data {show_shape(data)}",
                "extents of at most those of data, except along the axis",
            )


@relax_op(
    "relax.gather_elements", "data: Tensor, indices: Tensor", GatherElementsAttrs,
    pattern=INJECTIVE,
)  # fmt: skip
def gather_elements(data: ExprLike, indices: ExprLike, axis: int = 0) -> Call:
    """out[i][j] = data[indices[i][j]][j] for axis 0; the result has the shape of `indices`."""
    return gather_elements.call(data, indices, axis=whole(axis))


@gather_elements.infer
def _gather_elements_info(
    ctx: Infer, data: TensorStructInfo, indices: TensorStructInfo, *, axis: int
) -> TensorStructInfo:
    _check_indices(ctx, "indices", indices)
    ndim = _check_same_ndim(ctx, ("data", data), ("indices", indices))
    if ndim != -1:
        _check_within(ctx, data, indices, axis_index(ctx, axis, ndim))
    if -1 in (data.ndim, indices.ndim):
        return like(data, None)
    return TensorStructInfo.of(indices.shape, data.dtype, data.vdevice, ndim)


@gather_elements.legalize
def _gather_elements_te(bb: BlockBuilder, data: Expr, indices: Expr, *, axis: int) -> Expr:
    return bb.call_te(topi.gather, data, axis, indices, primfunc_name_hint="gather")


@gather_elements.reference
def _gather_elements_numpy(data: Array, indices: Array, *, axis: int) -> Array:
    return _elements_at(data, indices, axis)[0]


def _elements_at(data: Array, indices: Array, axis: int) -> tuple[Array, Any]:
    """data at the indices along an axis, and the numpy index that selects them."""
    from_front = np.where(indices < 0, indices + data.shape[axis], indices)
    at = list(np.indices(indices.shape))
    at[axis] = from_front
    return data[tuple(at)], tuple(at)


@relax_op("relax.gather_nd", "data: Tensor, indices: Tensor", GatherNDAttrs, pattern=INJECTIVE)
def gather_nd(data: ExprLike, indices: ExprLike, batch_dims: int = 0) -> Call:
    """Parts of data named by the last dimension of indices.   (a, b, c), (n, 2) -> (n, c)"""
    return gather_nd.call(data, indices, batch_dims=whole(batch_dims, "batch_dims"))


@gather_nd.infer
def _gather_nd_info(
    ctx: Infer, data: TensorStructInfo, indices: TensorStructInfo, *, batch_dims: int
) -> TensorStructInfo:
    _check_indices(ctx, "indices", indices)
    if batch_dims < 0 or (data.ndim != -1 and batch_dims > data.ndim):
        raise ctx.error("batch_dims is out of range", f"{batch_dims}", f"0 ... {data.ndim}")
    if not indices.values:
        return like(data, None)
    count = const_int(indices.values[-1])
    if count is None or data.ndim == -1:
        return like(data, None)
    if batch_dims + count > data.ndim:
        raise ctx.shape_error(
            "indices name more dimensions than data has",
            f"batch_dims {batch_dims} + {count}",
            f"at most {data.ndim}",
        )
    if data.values is None:
        return like(data, None, indices.ndim - 1 + data.ndim - batch_dims - count)
    for a, b in zip(data.values[:batch_dims], indices.values[:-1]):
        if ctx.differ(a, b):
            raise ctx.shape_error(
                "data and indices differ in their batch",
                f"{show_shape(data)}, {show_shape(indices)}",
                f"equal extents in the first {batch_dims} dimensions",
            )
    return like(data, (*indices.values[:-1], *data.values[batch_dims + count :]))


@gather_nd.legalize
def _gather_nd_te(bb: BlockBuilder, data: Expr, indices: Expr, *, batch_dims: int) -> Expr:
    def compute(x: Any, te_indices: Any) -> Any:
        # topi takes the coordinates in the first dimension
        ndim = len(te_indices.shape)
        moved = topi.transpose(te_indices, [ndim - 1, *range(ndim - 1)])
        return topi.gather_nd(x, moved, batch_dims)

    return bb.call_te(compute, data, indices, primfunc_name_hint="te_gather_nd")


@gather_nd.reference
def _gather_nd_numpy(data: Array, indices: Array, *, batch_dims: int) -> Array:
    lead = indices.shape[:batch_dims]
    out = []
    for batch_index in np.ndindex(*lead):
        inner, x = indices[batch_index], data[batch_index]
        out.append(x[tuple(np.moveaxis(inner, -1, 0))])
    shape = (*indices.shape[:-1], *data.shape[batch_dims + indices.shape[-1] :])
    return np.asarray(out, data.dtype).reshape(shape)


@relax_op("relax.index_tensor", "data: Tensor, indices: Tensors", pattern=INJECTIVE)
def index_tensor(data: ExprLike, indices: Any) -> Call:
    """data[indices[0], indices[1], ...] as numpy has it: the indices broadcast together."""
    given = indices if isinstance(indices, Expr) else Tuple(indices)
    return index_tensor.call(data, given)


@index_tensor.infer
def _index_tensor_info(
    ctx: Infer, data: TensorStructInfo, indices: TupleStructInfo
) -> TensorStructInfo:
    infos = tensor_fields(indices)
    if not infos:
        raise ctx.error("there are no indices", "an empty tuple", "one tensor or more")
    for i, info in enumerate(infos):
        _check_indices(ctx, f"index {i}", info)
    if data.ndim != -1 and len(infos) > data.ndim:
        raise ctx.shape_error(
            "more indices than data has dimensions", f"{len(infos)}", f"at most {data.ndim}"
        )
    index_info = broadcast_infos(
        ctx, data.dtype, *((f"index {i}", info) for i, info in enumerate(infos))
    )
    if data.ndim == -1 or index_info.values is None:
        return like(data, None)
    if data.values is None:
        return like(data, None, index_info.ndim + data.ndim - len(infos))
    return like(data, (*index_info.values, *data.values[len(infos) :]))


@index_tensor.fit
def _index_tensor_fit(bb: BlockBuilder, data: Expr, indices: Expr) -> list[Expr]:
    return [data, Tuple(broadcast(bb, tuple_items(bb, indices)))]


@index_tensor.legalize
def _index_tensor_te(bb: BlockBuilder, data: Expr, indices: Expr) -> Expr:
    info = indices.struct_info
    assert isinstance(info, TupleStructInfo), "checked by its kind"
    items = [bb.emit(TupleGetItem(indices, i)) for i in range(len(info.fields))]
    return bb.call_te(topi.index_tensor, data, items)


index_tensor.reference(lambda data, indices: data[tuple(indices)])


@relax_op("relax.index_put", "data: Tensor, indices: Tensors, values: Tensor", IndexPutAttrs,
          pattern=OPAQUE)  # fmt: skip
def index_put(
    data: ExprLike, indices: Any, values: ExprLike, accumulate: bool = False
) -> Call:
    """data with data[indices[0], indices[1], ...] replaced by values, or increased by them."""
    if not isinstance(indices, Expr):
        indices = Tuple(listed(indices, "index_put: indices"))
    elif isinstance(indices.struct_info_, TensorStructInfo):
        indices = Tuple([indices])
    return index_put.call(data, indices, values, accumulate=bool(accumulate))


@index_put.infer
def _index_put_info(
    ctx: Infer,
    data: TensorStructInfo,
    indices: TupleStructInfo,
    values: TensorStructInfo,
    *,
    accumulate: bool,
) -> TensorStructInfo:
    common_dtype(ctx, ("data", data), ("values", values))
    infos = tensor_fields(indices)
    for i, info in enumerate(infos):
        _check_indices(ctx, f"index {i}", info)
    if data.ndim != -1 and len(infos) > data.ndim:
        raise ctx.shape_error(
            "more indices than data has dimensions", f"{len(infos)}", f"at most {data.ndim}"
        )
    if data.values is None or values.values is None:
        return written(data)
    common: tuple[PrimExpr, ...] = ()
    for info in infos:
        if info.values is None:
            return written(data)
        common = _note_broadcast(ctx, common, info.values)
    _note_broadcast(ctx, (*common, *data.values[len(infos) :]), values.values)
    return written(data)


def _note_broadcast(
    ctx: Infer, a: Sequence[PrimExpr], b: Sequence[PrimExpr]
) -> tuple[PrimExpr, ...]:
    """The extents that two shapes are broadcast to, where those that may differ are equal."""
    count = max(len(a), len(b))
    one = IntImm(INT64, 1)
    joined: list[PrimExpr] = []
    for x, y in zip((*[one] * (count - len(a)), *a), (*[one] * (count - len(b)), *b)):
        if not is_one(x) and not is_one(y):
            ctx.differ(x, y)
        joined.append(y if is_one(x) else x)
    return tuple(joined)


@index_put.legalize
def _index_put_te(
    bb: BlockBuilder, data: Expr, indices: Expr, values: Expr, *, accumulate: bool
) -> Expr:
    parts = tuple_items(bb, indices)
    return bb.call_te(topi.index_put, data, parts, values, accumulate=accumulate)


@index_put.reference
def _index_put_numpy(data: Array, indices: Any, values: Array, *, accumulate: bool) -> Array:
    out = data.copy()
    if accumulate:
        np.add.at(out, tuple(indices), values)
    else:
        out[tuple(indices)] = values
    return out


def _check_reduction(ctx: Infer, reduction: str, legal: tuple[str, ...]) -> None:
    if reduction not in legal:
        raise ctx.error("unknown reduction", repr(reduction), ", ".join(legal))


@relax_op("relax.scatter_elements", "data: Tensor, indices: Tensor, updates: Tensor",
          ScatterElementsAttrs, pattern=OPAQUE)  # fmt: skip
def scatter_elements(
    data: ExprLike, indices: ExprLike, updates: ExprLike, axis: int = 0, reduction: str = "update"
) -> Call:
    """data with data[indices[i][j]][j] combined with updates[i][j] for axis 0.

    `reduction` is update (replaced), add, mul, mean, max or min.
    """
    return scatter_elements.call(data, indices, updates, axis=whole(axis), reduction=reduction)


@scatter_elements.infer
def _scatter_elements_info(
    ctx: Infer,
    data: TensorStructInfo,
    indices: TensorStructInfo,
    updates: TensorStructInfo,
    *,
    axis: int,
    reduction: str,
) -> TensorStructInfo:
    _check_indices(ctx, "indices", indices)
    common_dtype(ctx, ("data", data), ("updates", updates))
    ndim = _check_same_ndim(ctx, ("data", data), ("indices", indices), ("updates", updates))
    if ndim != -1:
        _check_within(ctx, data, indices, axis_index(ctx, axis, ndim))
    for a, b in zip(indices.values or (), updates.values or ()):
        if ctx.differ(a, b):
            raise ctx.shape_error(
                "indices and updates differ in shape",
                f"{show_shape(indices)}, {show_shape(updates)}",
                "one shape",
            )
    return written(data)


@scatter_elements.legalize
def _scatter_elements_te(
    bb: BlockBuilder, data: Expr, indices: Expr, updates: Expr, *, axis: int, reduction: str
) -> Expr:
    if reduction == "mean":
        return bb.call_te(
            topi.scatter_elements_mean, data, indices, updates, axis,
            primfunc_name_hint="scatter_elements",
        )  # fmt: skip
    return bb.call_te(topi.scatter_elements, data, indices, updates, axis, reduction)


_COMBINE: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@scatter_elements.reference
def _scatter_elements_numpy(
    data: Array, indices: Array, updates: Array, *, axis: int, reduction: str
) -> Array:
    out = data.copy()
    _, at = _elements_at(data, indices, axis)
    if reduction == "update":
        out[at] = updates
    elif reduction == "mean":
        total, count = out.astype(np.float64), np.ones(out.shape)
        np.add.at(total, at, updates)
        np.add.at(count, at, 1)
        out = (total / count).astype(data.dtype)
    else:
        _COMBINE[reduction].at(out, at, updates)
    return out


@relax_op("relax.scatter_nd", "data: Tensor, indices: Tensor, updates: Tensor", ScatterNDAttrs,
          pattern=OPAQUE)  # fmt: skip
def scatter_nd(
    data: ExprLike, indices: ExprLike, updates: ExprLike, reduction: str = "update"
) -> Call:
    """data with the parts named by the last dimension of indices combined with updates."""
    return scatter_nd.call(data, indices, updates, reduction=reduction)


@scatter_nd.infer
def _scatter_nd_info(
    ctx: Infer,
    data: TensorStructInfo,
    indices: TensorStructInfo,
    updates: TensorStructInfo,
    *,
    reduction: str,
) -> TensorStructInfo:
    _check_indices(ctx, "indices", indices)
    _check_reduction(ctx, reduction, ("update", "add", "mul", "max", "min"))
    common_dtype(ctx, ("data", data), ("updates", updates))
    if data.values is not None and indices.values and updates.values is not None:
        count = const_int(indices.values[-1])
        if count is not None:
            if count > data.ndim:
                raise ctx.shape_error(
                    "indices name more dimensions than data has", f"{count}", f"<= {data.ndim}"
                )
            wanted = (*indices.values[:-1], *data.values[count:])
            differ = len(wanted) != len(updates.values) or any(
                ctx.differ(a, b) for a, b in zip(wanted, updates.values)
            )
            if differ:
                raise ctx.shape_error(
                    "updates do not fit", show_shape(updates),
                    show_shape(ShapeStructInfo(wanted)),
                )  # fmt: skip
    return written(data)


@scatter_nd.legalize
def _scatter_nd_te(
    bb: BlockBuilder, data: Expr, indices: Expr, updates: Expr, *, reduction: str
) -> Expr:
    def compute(x: Any, te_indices: Any, new: Any) -> Any:
        return topi.scatter_nd(x, coordinates_first(te_indices), new, reduction)

    return bb.call_te(compute, data, indices, updates, primfunc_name_hint="scatter_nd")


def coordinates_first(te_indices: Any) -> Any:
    """The indices as topi takes them, with the coordinates in the first dimension."""
    ndim = len(te_indices.shape)
    return topi.transpose(te_indices, [ndim - 1, *range(ndim - 1)]) if ndim > 1 else te_indices


@scatter_nd.reference
def _scatter_nd_numpy(data: Array, indices: Array, updates: Array, *, reduction: str) -> Array:
    out = data.copy()
    at = tuple(np.moveaxis(indices, -1, 0))
    if reduction == "update":
        out[at] = updates
    else:
        _COMBINE[reduction].at(out, at, updates)
    return out


@relax_op(
    "relax.slice_scatter", "input: Tensor, src: Tensor, start: Prim, end: Prim, step: Prim",
    SliceScatterAttrs, pattern=INJECTIVE,
)  # fmt: skip
def slice_scatter(
    input_tensor: ExprLike, src: ExprLike, start: Any, end: Any, step: Any, axis: int = 0
) -> Call:
    """The tensor with the slice start:end:step along `axis` replaced by `src`."""
    parts = [v if isinstance(v, Expr) else PrimValue(v) for v in (start, end, step)]
    return slice_scatter.call(input_tensor, src, *parts, axis=whole(axis))


@slice_scatter.infer
def _slice_scatter_info(
    ctx: Infer,
    input: TensorStructInfo,
    src: TensorStructInfo,
    start: PrimStructInfo,
    end: PrimStructInfo,
    step: PrimStructInfo,
    *,
    axis: int,
) -> TensorStructInfo:
    common_dtype(ctx, ("input_tensor", input), ("src", src))
    ndim = _check_same_ndim(ctx, ("input_tensor", input), ("src", src))
    if ndim == -1:
        return input
    at = axis_index(ctx, axis, ndim)
    by = const_int(step.value)
    if by is not None and by < 1:
        raise ctx.error("step must be positive", f"{by}", "1 or more")
    low, high = start.value, end.value
    if input.values is None or src.values is None or low is None or high is None or by is None:
        return input
    wanted: list[PrimExpr] = list(input.values)
    wanted[at] = slice_extent(input.values[at], low, high, by, False, ctx.analyzer)
    for a, b in zip(wanted, src.values):
        if ctx.differ(a, b):
            raise ctx.shape_error(
                "src does not fit the slice",
                show_shape(src),
                show_shape(ShapeStructInfo(wanted)),
            )
    return input


@slice_scatter.legalize
def _slice_scatter_te(
    bb: BlockBuilder, input: Expr, src: Expr, start: Expr, end: Expr, step: Expr, *, axis: int
) -> Expr:
    return bb.call_te(topi.slice_scatter, input, src, start, end, step, axis)


@slice_scatter.reference
def _slice_scatter_numpy(
    input: Array, src: Array, start: int, end: int, step: int, *, axis: int
) -> Array:
    out = input.copy()
    at = [slice(None)] * input.ndim
    at[axis] = slice(start, end, step)
    out[tuple(at)] = src
    return out


@relax_op("relax.collapse_sum_like", "data: Tensor, collapse_target: Tensor", pattern=OPAQUE)
def collapse_sum_like(data: ExprLike, collapse_target: ExprLike) -> Call:
    """data summed so that it has the shape of `collapse_target`, which broadcasts to data's."""
    return collapse_sum_like.call(data, collapse_target)


@relax_op("relax.collapse_sum_to", "data: Tensor, shape: Shape", pattern=OPAQUE)
def collapse_sum_to(data: ExprLike, shape: Any) -> Call:
    """data summed so that it has `shape`, which broadcasts to data's own."""
    return collapse_sum_to.call(data, as_shape(shape))


def _check_collapse(
    ctx: Infer, data: TensorStructInfo, target: TensorStructInfo | ShapeStructInfo
) -> None:
    if -1 not in (data.ndim, target.ndim) and target.ndim > data.ndim:
        raise ctx.shape_error(
            "the target has more dimensions than data", f"{target.ndim}", f"at most {data.ndim}"
        )
    if data.values is None or target.values is None:
        return
    for a, b in zip(reversed(data.values), reversed(target.values)):
        if const_int(b) != 1 and ctx.differ(a, b):
            raise ctx.shape_error(
                "the target does not broadcast to data",
                f"data {show_shape(data)}, target {show_shape(target)}",
                "extents that are 1 or those of data",
            )


@collapse_sum_like.infer
def _collapse_like_info(
    ctx: Infer, data: TensorStructInfo, collapse_target: TensorStructInfo
) -> StructInfo:
    _check_collapse(ctx, data, collapse_target)
    return TensorStructInfo.of(
        collapse_target.shape, data.dtype, data.vdevice, collapse_target.ndim
    )


@collapse_sum_to.infer
def _collapse_to_info(ctx: Infer, data: TensorStructInfo, shape: ShapeStructInfo) -> StructInfo:
    _check_collapse(ctx, data, shape)
    return TensorStructInfo(ctx.call.args[1], data.dtype, data.vdevice)


@collapse_sum_like.legalize
def _collapse_like_te(bb: BlockBuilder, data: Expr, collapse_target: Expr) -> Expr:
    values = values_of(collapse_target.struct_info)
    if values is None:
        return collapse_sum_like(data, collapse_target)
    return bb.call_te(topi.collapse_sum, data, list(values))


@collapse_sum_to.legalize
def _collapse_to_te(bb: BlockBuilder, data: Expr, shape: Expr) -> Expr:
    return bb.call_te(topi.collapse_sum, data, shape)


def _collapse_numpy(data: Array, shape: Any) -> Array:
    extra = data.ndim - len(shape)
    out = data.sum(tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and out.shape[i] != 1)
    return np.asarray(out.sum(axes, keepdims=True) if axes else out, data.dtype)


collapse_sum_to.reference(_collapse_numpy)
collapse_sum_like.reference(lambda data, target: _collapse_numpy(data, target.shape))

collapse_sum_to.follow_layout(layout_moves.reshaped_alike)
collapse_sum_like.follow_layout(layout_moves.collapsed_alike)
for _declared in (gather_elements, scatter_elements, slice_scatter):
    _declared.follow_layout(layout_moves.elements_along)
