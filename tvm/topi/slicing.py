"""Slices with strides, read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.arith.slice_length import literal_slice_length, simple_slice_length
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr
from tvm.tir.slice_bounds import canonical_bound

from . import tag
from .common import compute, known, stage
from .utils import const_vector, get_const_int, normal_axis

Bound = Any  # an int, an expression, None for the natural end


@explained
def strided_slice(
    a: te.Tensor,
    begin: Any,
    end: Any,
    strides: Any = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> te.Tensor:
    """`a[begin:end:strides]` along the axes, or along the first ones.

    With `slice_mode="size"`, `end` holds sizes, where -1 means up to the end, and strides are one.
    Symbolic bounds are assumed to lie within the tensor, unless `assume_inbound` is False: then
    the extents of the result are those of any bounds, but the slice begins where `begin` says.
    """
    return _strided(a, begin, end, strides, axes, slice_mode, assume_inbound, moves=False)


def strided_slice_of_any_bounds(
    a: te.Tensor, begin: Any, end: Any, strides: Any, axes: Sequence[int] | None
) -> te.Tensor:
    """`strided_slice` that begins within the tensor, whatever symbolic bounds turn out to be."""
    return _strided(a, begin, end, strides, axes, "end", assume_inbound=False, moves=True)


def _strided(
    a: te.Tensor,
    begin: Any,
    end: Any,
    strides: Any,
    axes: Sequence[int] | None,
    slice_mode: str,
    assume_inbound: bool,
    moves: bool,
) -> te.Tensor:
    if any(isinstance(x, te.Tensor) for x in (begin, end, strides)):
        return _slice_by_tensors(a, begin, end, strides)
    starts, stops = list(begin), list(end)
    steps = [] if strides is None else list(strides)
    if slice_mode not in ("end", "size"):
        raise ValueError(f"strided_slice: slice_mode {slice_mode!r}; legal: 'end', 'size'")
    given = axes is not None and len(axes) > 0
    if axes is not None and given:
        dims = [normal_axis(x, a.ndim, "topi.strided_slice") for x in axes]
    else:
        dims = list(range(max(len(starts), len(stops))))
    if len(dims) > a.ndim or (given and not len(dims) == len(starts) == len(stops)):
        raise ShapeError(
            message(
                "topi.strided_slice",
                found=f"{len(starts)} begins and {len(stops)} ends, {a.ndim} dimensions",
                legal="one begin and one end for each axis",
            )
        )
    count = len(dims)
    starts += [None] * (count - len(starts))
    stops += [None] * (count - len(stops))
    steps += [1] * (count - len(steps))
    sizes = [a.shape[x] for x in dims]
    static = all(x is None or known(x) for x in (*starts, *stops, *steps)) and all(
        known(x) for x in a.shape
    )
    if static:
        bounds = [
            _static_bounds(_number(b), _number(e), get_const_int(s), get_const_int(n), slice_mode)
            for b, e, s, n in zip(starts, stops, steps, sizes)
        ]
        name = "T_strided_slice_with_axes" if given else "T_strided_slice"
    else:
        bounds = [
            _dynamic_bounds(b, e, s, n, slice_mode, assume_inbound, moves)
            for b, e, s, n in zip(starts, stops, steps, sizes)
        ]
        name = "T_dynamic_strided_slice_with_axes" if given else "T_dynamic_strided_slice"
    return _slice(a, dims, bounds, name)


def _number(bound: Bound) -> int | None:
    return None if bound is None else get_const_int(bound)


def _static_bounds(
    begin: int | None, end: int | None, step: int, size: int, mode: str
) -> tuple[Any, Any, Any]:
    """Start, step and length of a slice with known bounds, as Python slices have them."""
    if step == 0:
        raise ShapeError("topi.strided_slice: stride 0; legal: any other integer")
    if mode == "size":
        start = begin or 0
        start = start + size if start < 0 else start
        length = size - start if end is None or end < 0 else end
        begin, end, step = start, start + length, 1
    start, stop, step = slice(begin, end, step).indices(size)
    length = len(range(start, stop, step))
    return start, step, length


def _dynamic_bounds(
    begin: Bound, end: Bound, step: Any, size: Any, mode: str, assume_inbound: bool, moves: bool
) -> tuple[Any, Any, Any]:
    stride = _as_index(step, size)
    backward = isinstance(stride, tir.IntImm) and stride.value < 0
    simplify = Analyzer().simplify
    if mode == "size":
        start = _as_index(0 if begin is None else begin, size)
        whole = end is None or (known(end) and int(end) < 0)
        return start, tir.const(1, size.dtype), simplify(size - start if whole else as_expr(end))
    low = (size - 1 if backward else tir.const(0, size.dtype)) if begin is None else begin
    high = (tir.const(-1, size.dtype) if backward else size) if end is None else end
    start, stop = _as_index(low, size), _as_index(high, size)
    if not assume_inbound:
        start = canonical_bound(start, size, stride)
        stop = canonical_bound(stop, size, stride) if end is not None else stop
    else:
        start, stop = _from_front(start, size), _from_front(stop, size) if end is not None else stop
    # a bound that is left out is that of a slice forward
    forward = assume_inbound or begin is None or end is None
    length = simple_slice_length(start, stop, stride, forward, Analyzer())
    if not assume_inbound and begin is not None and end is not None:
        length = literal_slice_length(as_expr(begin), as_expr(end), stride, length, Analyzer())
    if not moves and begin is not None and not (known(begin) and int(begin) < 0):
        start = _as_index(low, size)
    return simplify(start), stride, length


def _as_index(value: Any, size: Any) -> PrimExpr:
    expr = as_expr(value)
    return tir.const(expr.value, size.dtype) if isinstance(expr, tir.IntImm) else expr


def _from_front(value: PrimExpr, size: Any) -> PrimExpr:
    """A negative literal counts from the end."""
    return value + size if isinstance(value, tir.IntImm) and value.value < 0 else value


def _slice(
    a: te.Tensor, dims: Sequence[int], bounds: Sequence[tuple[Any, Any, Any]], name: str
) -> te.Tensor:
    shape = list(a.shape)
    for dim, (_, _, length) in zip(dims, bounds):
        shape[dim] = length

    def element(*i: Any) -> PrimExpr:
        own = list(i)
        for dim, (start, step, _) in zip(dims, bounds):
            own[dim] = i[dim] * step + start
        return a(*own)

    return stage(shape, element, name, tag.INJECTIVE)


def _as_tensor(value: Any, name: str) -> te.Tensor:
    if isinstance(value, te.Tensor):
        return value
    return const_vector(np.asarray([int(x) for x in value], "int64"), name)


def _slice_by_tensors(a: te.Tensor, begin: Any, end: Any, strides: Any) -> te.Tensor:
    """Bounds that are known when the program runs only; the result's extents are variables."""
    starts, stops = _as_tensor(begin, "begin"), _as_tensor(end, "end")
    count = get_const_int(starts.shape[0])
    steps = _as_tensor([1] * count if strides is None else strides, "strides")
    shape = [
        te.max(tir.const(0, "int64"), tir.ceildiv(stops(k) - starts(k), steps(k)))
        if not isinstance(starts.op, te.PlaceholderOp) else te.size_var(f"dim{k}", "int64")
        for k in range(count)
    ]  # fmt: skip
    return dynamic_strided_slice(a, starts, stops, steps, [*shape, *a.shape[count:]])


@explained
def dynamic_strided_slice(
    a: te.Tensor, begin: Any, end: Any, strides: Any, output_shape: Sequence[Any]
) -> te.Tensor:
    """A slice whose bounds are tensors, with a shape worked out beforehand.

    Bounds count from the front, and are only kept from lying behind the last element.
    """
    return _by_tensors(a, begin, strides, output_shape, lambda start, extent: start)


def dynamic_slice_of_any_bounds(
    a: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor, output_shape: Sequence[Any]
) -> te.Tensor:
    """`dynamic_strided_slice` with bounds of any sign; negative ones count from the end."""

    def first(start: PrimExpr, extent: Any) -> PrimExpr:
        low = tir.if_then_else(start < 0, start + extent, start)
        return te.max(low, tir.const(0, low.dtype))  # type: ignore[no-any-return]

    return _by_tensors(a, begin, strides, output_shape, first)


def _by_tensors(
    a: te.Tensor, begin: Any, strides: Any, output_shape: Sequence[Any],
    first: Callable[[PrimExpr, Any], PrimExpr],
) -> te.Tensor:  # fmt: skip
    begin, strides = _as_tensor(begin, "begin"), _as_tensor(strides, "strides")
    count = get_const_int(begin.shape[0])

    def element(*i: Any) -> PrimExpr:
        own = []
        for k, index in enumerate(i):
            if k >= count:
                own.append(index)
                continue
            start = begin(tir.const(k, "int64"))
            low = te.min(first(start, a.shape[k]), a.shape[k] - 1)
            own.append(index * strides(tir.const(k, "int64")) + low)
        return a(*own)

    return stage(list(output_shape), element, "T_strided_slice_dynamic", tag.INJECTIVE)


@explained
def strided_set(
    a: te.Tensor, v: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor | None = None
) -> te.Tensor:
    """`a` with `v` instead of `a[begin:end:strides]`; the bounds are tensors."""
    for what, bound in (("begin", begin), ("end", end), ("strides", strides)):
        if bound is not None and not (isinstance(bound, te.Tensor) and bound.ndim == 1):
            raise ShapeError(
                message(
                    f"topi.strided_set: {what} should be a one-dimensional tensor",
                    found=f"{bound!r}",
                    legal="one number for each axis",
                )
            )

    def given(tensor: te.Tensor | None, k: int, dtype: Any) -> PrimExpr | None:
        if tensor is None or k >= get_const_int(tensor.shape[0]):
            return None
        bound: PrimExpr = tensor(k).astype(dtype)
        return bound

    def kept(bound: PrimExpr | None, low: PrimExpr, high: PrimExpr, default: PrimExpr) -> PrimExpr:
        """A bound as a position; negative ones count from the end."""
        if bound is None:
            return default
        extent = high - low  # of an axis, whichever way it is walked
        at: PrimExpr = te.min(te.max(tir.Select(bound < 0, bound + extent, bound), low), high)
        return at

    def element(*i: Any) -> PrimExpr:
        inside: list[PrimExpr] = []
        coords: list[PrimExpr] = []
        for k, at in enumerate(i):
            extent = a.shape[k]
            zero, one = tir.const(0, extent.dtype), tir.const(1, extent.dtype)
            low, high = given(begin, k, extent.dtype), given(end, k, extent.dtype)
            step = given(strides, k, extent.dtype)
            if step is None:
                first, last = kept(low, zero, extent, zero), kept(high, zero, extent, extent)
                inside += [at >= first, at < last]
                coords.append(at - first)
                continue
            back = step < 0  # from a position down to one after -1
            least, most = tir.Select(back, -one, zero), tir.Select(back, extent - one, extent)
            first = kept(low, least, most, tir.Select(back, most, least))
            last = kept(high, least, most, tir.Select(back, least, most))
            ahead = tir.Select(back, first - at, at - first)
            size = te.max(tir.Select(back, -step, step), one)  # a step of 0 divides nothing
            inside += [ahead >= 0, tir.Select(back, at > last, at < last),
                       tir.floormod(ahead, size).equal(zero)]  # fmt: skip
            coords.append(tir.floordiv(ahead, size))
        return tir.if_then_else(tir.all(*inside), v(*coords), a(*i))

    return compute(a.shape, element, name="strided_set")
