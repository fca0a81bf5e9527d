"""Reductions: sums, products, extremes and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType

from . import tag
from .common import is_one, same_extent, stage, stages
from .utils import normal_axes

Axes = Any  # an int, several, or None for all


def _axis_of(extent: Any, number: int) -> tir.IterVar:
    return te.reduce_axis((0, extent), f"k{number}")


def _target_shape(data: te.Tensor, axes: Sequence[int], keepdims: bool) -> list[Any]:
    if keepdims:
        one = [tir.const(1, extent.dtype) for extent in data.shape]
        return [one[i] if i in axes else s for i, s in enumerate(data.shape)]
    return [extent for i, extent in enumerate(data.shape) if i not in axes]


@explained
def source_indices(
    indices: Sequence[Any], ndim: int, reduced: dict[int, Any], squeezed: Sequence[int]
) -> list[Any]:
    """Indices into the source: reduction axes in their dimensions, the given ones in the others."""
    rest = iter(indices)
    coords = []
    for i in range(ndim):
        own = None if i in squeezed else next(rest)
        coords.append(reduced.get(i, own))
    return coords


@explained
def reduce_with(
    data: te.Tensor,
    axis: Axes,
    reducer: Callable[..., Any],
    keepdims: bool,
    what: str,
    atleast1d: bool = False,
) -> te.Tensor:
    """`data` reduced over axes; they stay with extent 1 if `keepdims`."""
    if data.ndim == 0:
        raise ShapeError(f"topi.{what}: Cannot reduce a 0 dim Tensor ({data.name})")
    axes = normal_axes(axis, data.ndim, f"topi.{what}")
    shape = _target_shape(data, axes, keepdims)
    if atleast1d and not shape:
        shape = [tir.const(1, data.shape[0].dtype)]
    return reduce_axes(data, reducer, shape, axes, [] if keepdims else axes)


@explained
def reduce_axes(
    data: te.Tensor,
    reducer: Callable[..., Any],
    shape: Sequence[Any],
    axes: Sequence[int],
    squeezed: Sequence[int],
) -> te.Tensor:
    """The stage of a reduction over `axes`, of which `squeezed` are not in the result."""
    reduced = {axis: _axis_of(data.shape[axis], axis) for axis in axes}

    def element(*indices: Any) -> PrimExpr:
        coords = source_indices(indices, data.ndim, reduced, squeezed)
        value: PrimExpr = reducer(data(*coords), axis=list(reduced.values()))
        return value

    return stage(shape, element, f"{data.op.name}_red", tag.COMM_REDUCE)


_prod = te.comm_reducer(lambda x, y: x * y, lambda dtype: tir.const(1, dtype), name="prod")
_all = te.comm_reducer(tir.all, lambda dtype: tir.const(True, dtype), name="all")
_any = te.comm_reducer(tir.any, lambda dtype: tir.const(False, dtype), name="any")


@explained
def sum(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """The sum over axes; of bools, whether any holds."""
    reducer = _any if data.dtype.is_bool else te.sum
    return reduce_with(data, axis, reducer, keepdims, "sum")


@explained
def all(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """Whether all hold."""
    return reduce_with(data, axis, _all, keepdims, "all")


@explained
def any(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """Whether any holds."""
    return reduce_with(data, axis, _any, keepdims, "any")


@explained
def max(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """The largest element."""
    return reduce_with(data, axis, te.max, keepdims, "max")


@explained
def min(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """The smallest element."""
    return reduce_with(data, axis, te.min, keepdims, "min")


@explained
def prod(data: te.Tensor, axis: Axes = None, keepdims: bool = False) -> te.Tensor:
    """The product of the elements."""
    return reduce_with(data, axis, _prod, keepdims, "prod")


def _arg_reducer(largest: bool, last: bool, always: bool = False) -> Callable[..., Any]:
    """Keeps the (index, value) pair with the extreme value; of equals the first, or the last.

    A row of nothing but the worst value has index -1, as that is the start and wins the tie. Not
    so where the worst value is common, as the zeros of unsigned numbers and bools; with `always`
    any element replaces the start, and NaN is beyond every number (as in numpy and torch).
    """

    def beyond(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if always and a.dtype.is_floating:
            number = b.equal(b)
            return tir.all(number, tir.Not(a <= b if largest else a >= b))
        return a > b if largest else a < b

    def equal(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if always and a.dtype.is_floating:
            return tir.Not(beyond(b, a))  # asked where `a` is not beyond `b` either
        return a.equal(b)

    def combine(x: Any, y: Any) -> list[PrimExpr]:
        wins = beyond(x[1], y[1])
        earlier = x[0] > y[0] if last else x[0] < y[0]
        ties = tir.all(equal(x[1], y[1]), earlier)
        return [tir.Select(tir.any(wins, ties), x[0], y[0]), tir.Select(wins, x[1], y[1])]

    def identity(index_dtype: Any, dtype: Any) -> list[PrimExpr]:
        worst = tir.min_value(dtype) if largest else tir.max_value(dtype)
        index: PrimExpr = tir.const(-1, index_dtype)
        common = DataType(dtype).is_uint or DataType(dtype).is_bool
        if (always or common) and not last:
            index = tir.max_value(index_dtype)
        if always and isinstance(worst, tir.FloatImm):
            worst = tir.FloatImm(worst.dtype, float("-inf" if largest else "inf"))
        return [index, worst]

    return te.comm_reducer(combine, identity, name="argmax" if largest else "argmin")


def _arg_reduce(
    data: te.Tensor,
    axis: Axes,
    keepdims: bool,
    reducer: Callable[..., Any],
    what: str,
    narrow: bool = False,
) -> te.Tensor:
    if data.ndim == 0:
        raise ShapeError(f"topi.{what}: Cannot reduce a 0 dim Tensor ({data.name})")
    axes = normal_axes(axis, data.ndim, f"topi.{what}")
    reduced = {a: _axis_of(data.shape[a], a) for a in axes}
    shape = _target_shape(data, axes, keepdims)

    def element(*indices: Any) -> Any:
        coords = source_indices(indices, data.ndim, reduced, [] if keepdims else axes)
        number: Any = None if axes else tir.const(0)
        for a in axes:
            own = reduced[a].var
            number = own if number is None else number * data.shape[a] + own
        if narrow:
            number = number.astype("int32")
        return reducer((number, data(*coords)), axis=list(reduced.values()))

    index, _ = stages(shape, element, f"{data.op.name}_red_temp", tag.COMM_REDUCE_IDX)
    return stage(shape, lambda *i: index(*i), f"{data.op.name}_red", tag.COMM_REDUCE_IDX)


@explained
def argmax(
    data: te.Tensor, axis: Axes = None, keepdims: bool = False, select_last_index: bool = False
) -> te.Tensor:
    """The index of the largest element: the first one, or the last one, of equals."""
    reducer = _arg_reducer(largest=True, last=bool(select_last_index))
    return _arg_reduce(data, axis, keepdims, reducer, "argmax")


@explained
def argmin(
    data: te.Tensor, axis: Axes = None, keepdims: bool = False, select_last_index: bool = False
) -> te.Tensor:
    """The index of the smallest element: the first one, or the last one, of equals."""
    reducer = _arg_reducer(largest=False, last=bool(select_last_index))
    return _arg_reduce(data, axis, keepdims, reducer, "argmin")


def index_of_extreme(data: te.Tensor, axis: Axes, keepdims: bool, largest: bool) -> te.Tensor:
    """As `argmax` or `argmin`; a row of nothing but the worst value has an index as well.

    It is int32 where the extents say that it fits: a vector holds twice as many.
    """
    reducer = _arg_reducer(largest, last=False, always=True)
    what = "argmax" if largest else "argmin"
    count: PrimExpr = tir.const(1, "int64")
    for a in normal_axes(axis, data.ndim, f"topi.{what}"):
        count = count * data.shape[a]
    narrow = isinstance(count, tir.IntImm) and int(count) < 2**31
    return _arg_reduce(data, axis, keepdims, reducer, what, narrow)


def extreme(data: te.Tensor, axis: Axes, keepdims: bool, largest: bool) -> te.Tensor:
    """As `max` or `min`; a row of nothing but the worst infinity gives that one, as does an empty.

    Those start from the lowest or highest finite number, which stands before an infinity. Integers
    have none, nor have most numbers of 8 bits and fewer.
    """
    what = "max" if largest else "min"
    dtype = DataType(data.dtype)
    if not dtype.is_floating or dtype.bits < 16:
        return (max if largest else min)(data, axis, keepdims)

    def start(kind: Any) -> PrimExpr:
        return tir.FloatImm(kind, float("-inf" if largest else "inf"))

    reducer = te.comm_reducer(tir.max if largest else tir.min, start, name=what)
    return reduce_with(data, axis, reducer, keepdims, what)


@explained
def collapse_sum(data: te.Tensor, target_shape: Sequence[Any]) -> te.Tensor:
    """The sum that undoes broadcasting: over axes that the target lacks or has with extent 1."""
    extra = data.ndim - len(target_shape)
    if extra < 0:
        raise ShapeError(
            message(
                "topi.collapse_sum",
                found=f"{data.ndim} dimensions to collapse to {len(target_shape)}",
                legal="a target with no more dimensions than the data",
            )
        )
    axes, squeezed = list(range(extra)), list(range(extra))
    for i, wanted in enumerate(target_shape):
        have = data.shape[extra + i]
        if same_extent(have, wanted):
            continue
        if not is_one(wanted):
            raise ShapeError(
                message(
                    "topi.collapse_sum",
                    found=f"extent {have} of the data where the target has {wanted}",
                    legal="equal extents, or 1 in the target",
                )
            )
        axes.append(extra + i)
    if not axes:
        return stage(data.shape, lambda *i: data(*i), "tensor", tag.COMM_REDUCE)
    return reduce_axes(data, te.sum, target_shape, axes, squeezed)
