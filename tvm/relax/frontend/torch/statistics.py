"""Quantiles, medians without NaNs, covariances, and sums of trapezoids."""

from __future__ import annotations

import math
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .dtypes import is_float
from .registry import convert
from .sorting import median
from .values import (
    Expr,
    along_an_axis,
    axis_of,
    cast,
    dtype_of,
    floating,
    length,
    product,
    rank,
    refuse,
    same,
    scalar,
    sizes,
    tensor_of,
    written_axis,
)


def _last(bb: BlockBuilder, x: Expr, dim: int | None) -> Expr:
    """The axis to count along as the last one; of the flat tensor for None."""
    if dim is None:
        return bb.emit(op.reshape(x, [product(sizes(x))]))
    axis = axis_of(dim, rank(x))
    order = [*(i for i in range(rank(x)) if i != axis), axis]
    return x if axis == rank(x) - 1 else bb.emit(op.permute_dims(x, order))


def _kept_shape(x: Expr, dim: int | None) -> list[Any]:
    """The shape of `x` with one element along an axis, or along all of them."""
    axis = None if dim is None else axis_of(dim, rank(x))
    return [1 if axis in (None, i) else size for i, size in enumerate(sizes(x))]


def _counted(bb: BlockBuilder, x: Expr) -> Expr:
    """How many elements of each row are not NaN: int64 (..., 1)."""
    there = bb.emit(op.astype(op.logical_not(op.isnan(x)), "int64"))
    return bb.emit(op.sum(there, -1, True))


def _sorted(bb: BlockBuilder, x: Expr) -> Expr:
    """Rows in order, NaNs behind everything else."""
    endless = scalar(math.inf, dtype_of(x))
    return bb.emit(op.sort(bb.emit(op.where(op.isnan(x), endless, x)), -1))


def _quantiles(
    bb: BlockBuilder, x: Expr, q: Any, dim: int | None, keepdim: bool, how: str, skip: bool
) -> Any:
    """The elements at the ranks q (n - 1) of the sorted rows, n of which count.

    A rank between two elements is a mixture of them, or one of them.
    """
    if how not in ("linear", "lower", "higher", "midpoint", "nearest"):
        legal = "linear, lower, higher, midpoint, nearest"
        raise refuse("quantile: interpolation", repr(how), legal)
    dtype = dtype_of(x)
    if rank(x) == 0:
        dim, keepdim = None, False
    rows = _last(bb, x, dim)
    shares = tensor_of(bb, q, dtype)
    alone = rank(shares) == 0
    shares = bb.emit(op.reshape(shares, [1])) if alone else shares
    count = _counted(bb, rows)
    whole = scalar(length(rows, -1, "quantile"), "int64")
    short = op.equal(count, scalar(0, "int64")) if skip else op.less(count, whole)
    missing = bb.emit(short)
    highest = op.maximum(op.subtract(count, scalar(1, "int64")), scalar(0, "int64"))
    rank_of = bb.emit(op.multiply(shares, cast(bb, bb.emit(highest), dtype)))
    found = _at_ranks(bb, _sorted(bb, rows), rank_of, how)
    found = bb.emit(op.where(missing, scalar(math.nan, dtype), found))
    if rank(found) > 1:
        last = rank(found) - 1
        found = bb.emit(op.permute_dims(found, [last, *range(last)]))
    outer = _kept_shape(x, dim) if keepdim else sizes(found)[1:]
    return op.reshape(found, outer if alone else [sizes(found)[0], *outer])


def _at_ranks(bb: BlockBuilder, ordered: Expr, rank_of: Expr, how: str) -> Any:
    def at(place: Any) -> Any:
        return bb.emit(op.gather_elements(ordered, bb.emit(op.astype(place, "int64")), -1))

    if how in ("lower", "higher", "nearest"):
        rule = {"lower": op.floor, "higher": op.ceil, "nearest": op.round}[how]
        return at(rule(rank_of))
    low, high = at(op.floor(rank_of)), at(op.ceil(rank_of))
    between = op.subtract(rank_of, op.floor(rank_of))
    share = scalar(0.5, dtype_of(ordered)) if how == "midpoint" else between
    return op.add(low, op.multiply(share, op.subtract(high, low)))


@convert("quantile")
def quantile(
    bb: BlockBuilder, input: Expr, q: Any, dim: int | None = None, keepdim: bool = False,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    return _quantiles(bb, input, q, dim, keepdim, interpolation, False)


@convert("nanquantile")
def nanquantile(
    bb: BlockBuilder, input: Expr, q: Any, dim: int | None = None, keepdim: bool = False,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    return _quantiles(bb, input, q, dim, keepdim, interpolation, True)


@convert("nanmedian")
@along_an_axis
def nanmedian(bb: BlockBuilder, input: Expr, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two middle elements that are not NaN, and where it is."""
    if not is_float(dtype_of(input)):
        return median(bb, input, dim, keepdim)
    rows = _last(bb, input, dim)
    is_nan = bb.emit(op.astype(op.isnan(rows), "int8"))
    # in two steps, so that infinities stand before NaNs
    order = bb.emit(op.argsort(is_nan, -1, False, "int64"))
    numbers = bb.emit(op.gather_elements(rows, order, -1))
    endless = op.where(op.isnan(numbers), scalar(math.inf, dtype_of(rows)), numbers)
    second = bb.emit(op.argsort(bb.emit(endless), -1, False, "int64"))
    order = bb.emit(op.gather_elements(order, second, -1))
    count = _counted(bb, rows)
    half = op.floor_divide(op.subtract(count, scalar(1, "int64")), scalar(2, "int64"))
    middle = bb.emit(op.maximum(half, scalar(0, "int64")))
    place = bb.emit(op.gather_elements(order, middle, -1))
    value = bb.emit(op.gather_elements(rows, place, -1))
    if dim is None:
        return op.reshape(value, [])
    shape = _kept_shape(input, dim) if keepdim else sizes(rows)[:-1]
    return op.reshape(value, shape), op.reshape(place, shape)


# --- covariances ---


@convert("cov")
def cov(
    bb: BlockBuilder, input: Expr, correction: int = 1, fweights: Expr | None = None,
    aweights: Expr | None = None,
) -> Any:  # fmt: skip
    """Of the rows, each of whose columns may count several times (`fweights`) or in shares."""
    shape = [1] * (2 - rank(input)) + sizes(input)
    x = floating(bb, bb.emit(op.reshape(input, shape)))
    dtype = dtype_of(x)
    given = [cast(bb, w, dtype) for w in (fweights, aweights) if w is not None]
    weights: Any = bb.emit(op.multiply(*given)) if len(given) == 2 else given[0] if given else None
    total: Any = scalar(shape[1], dtype) if weights is None else bb.emit(op.sum(weights))
    weighted = x if weights is None else bb.emit(op.multiply(x, weights))
    mean = bb.emit(op.divide(bb.emit(op.sum(weighted, [1], True)), total))
    taken: Any = scalar(float(correction), dtype)
    if aweights is not None:
        square = bb.emit(op.sum(bb.emit(op.multiply(weights, cast(bb, aweights, dtype)))))
        taken = bb.emit(op.multiply(taken, op.divide(square, total)))
    norm = bb.emit(op.maximum(op.subtract(total, taken), scalar(0.0, dtype)))
    away = bb.emit(op.subtract(x, mean))
    other = away if weights is None else bb.emit(op.multiply(away, weights))
    found = bb.emit(op.matmul(away, bb.emit(op.permute_dims(other))))
    return op.reshape(bb.emit(op.divide(found, norm)), [] if same(shape[0], 1) else [shape[0]] * 2)


@convert("corrcoef")
def corrcoef(bb: BlockBuilder, input: Expr) -> Any:
    """Covariances over the deviations of both rows, within -1 and 1."""
    found = bb.emit(cov(bb, input))
    if rank(found) == 0:
        return op.divide(found, found)
    rows = sizes(input)[0]
    unit = op.eye(rows, rows, 0, dtype_of(found))
    deviation = bb.emit(op.sqrt(op.sum(op.multiply(found, unit), [1])))
    scaled = op.divide(found, op.expand_dims(deviation, [1]))
    return op.clip(op.divide(scaled, op.expand_dims(deviation, [0])), -1.0, 1.0)


# --- trapezoids ---


def _areas(bb: BlockBuilder, y: Expr, x: Any, dx: Any, dim: int) -> Expr:
    """Of the trapezoids between neighbours along an axis."""
    axis = axis_of(dim, rank(y))

    def neighbours(values: Expr, along: int) -> tuple[Any, Any]:
        size = sizes(values)[along]
        cuts = (0, size - 1), (1, size)
        low, high = (bb.emit(op.strided_slice(values, [along], [a], [b])) for a, b in cuts)
        return low, high

    low, high = neighbours(floating(bb, y), axis)
    dtype = dtype_of(low)
    step: Any = scalar(float(dx), dtype)
    if x is not None:
        places = cast(bb, x, dtype)
        if rank(places) == 1:
            wide = [-1 if i == axis else 1 for i in range(rank(y))]
            places = bb.emit(op.reshape(places, wide))
        before, behind = neighbours(places, written_axis(axis - rank(y), rank(places)))
        step = bb.emit(op.subtract(behind, before))
    halves = op.multiply(op.add(low, high), scalar(0.5, dtype))
    return bb.emit(op.multiply(halves, step))


def _spacing(x: Any, dx: Any) -> tuple[Any, Any]:
    """A second argument without a name is a tensor of places."""
    return (x, dx) if x is None or isinstance(x, RelaxExpr) else (None, x)


@convert("trapezoid", "trapz")
def trapezoid(bb: BlockBuilder, y: Expr, x: Any = None, dim: int = -1, *, dx: Any = 1) -> Any:
    """The integral along an axis of what lies on lines between the elements."""
    x, dx = _spacing(x, dx)
    return op.sum(_areas(bb, y, x, dx, dim), [axis_of(dim, rank(y))])


@convert("cumulative_trapezoid")
def cumulative_trapezoid(
    bb: BlockBuilder, y: Expr, x: Any = None, dim: int = -1, *, dx: Any = 1
) -> Any:
    """The integral up to each element but the first."""
    x, dx = _spacing(x, dx)
    return op.cumsum(_areas(bb, y, x, dx, dim), axis_of(dim, rank(y)))
