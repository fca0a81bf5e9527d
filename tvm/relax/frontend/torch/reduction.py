"""Reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import tir
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.topi.scan import running_place

from .dtypes import is_float
from .registry import convert
from .values import (
    Expr,
    along_an_axis,
    axes_of,
    axis_of,
    cast,
    dtype_of,
    floating,
    product,
    promoted,
    rank,
    refuse,
    scalar,
    size_tensor,
    sizes,
    written_axes,
    written_axis,
)


def _accumulated(bb: BlockBuilder, x: Expr, dtype: Any) -> Expr:
    """Sums of integers and truth values are int64."""
    if dtype is not None:
        return cast(bb, x, dtype)
    return x if is_float(dtype_of(x)) else cast(bb, x, "int64")


@convert("sum")
def sum_(
    bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Expr:
    x = _accumulated(bb, input, dtype)
    return x if rank(x) == 0 else op.sum(x, written_axes(dim, rank(x)), keepdim)


@convert("nansum")
def nansum(
    bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    zero = scalar(0.0, dtype_of(input))
    return sum_(bb, bb.emit(op.where(op.isnan(input), zero, input)), dim, keepdim, dtype)


@convert("mean")
def mean(
    bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Expr:
    x = input if dtype is None else cast(bb, input, dtype)
    return x if rank(x) == 0 else op.mean(x, written_axes(dim, rank(x)), keepdim)


@convert("prod")
def prod(
    bb: BlockBuilder, input: Expr, dim: int | None = None, keepdim: bool = False, dtype: Any = None
) -> Expr:
    x = _accumulated(bb, input, dtype)
    return x if rank(x) == 0 else op.prod(x, written_axes(dim, rank(x)), keepdim)


@convert("amax")
def amax(bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    return input if rank(input) == 0 else op.max(input, written_axes(dim, rank(input)), keepdim)


@convert("amin")
def amin(bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    return input if rank(input) == 0 else op.min(input, written_axes(dim, rank(input)), keepdim)


@convert("aminmax")
def aminmax(bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False) -> Any:
    return amin(bb, input, dim, keepdim), amax(bb, input, dim, keepdim)


def _extreme(reduce: Any, arg: Any, pairwise: Any) -> Callable[..., Any]:
    def apply(bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False) -> Any:
        """Of all, of two tensors, or along an axis with the places."""
        if dim is None:
            return reduce(input) if rank(input) else input
        if not isinstance(dim, int):
            return pairwise(*promoted(bb, input, dim))
        axis = written_axis(dim, rank(input))
        values = bb.emit(reduce(input, axis, keepdim))
        return values, bb.emit(arg(input, axis, keepdim))

    return apply


convert("max")(along_an_axis(_extreme(op.max, op.argmax, op.maximum)))
convert("min")(along_an_axis(_extreme(op.min, op.argmin, op.minimum)))


def _index_rule(rule: Any) -> Callable[..., Expr]:
    def apply(
        bb: BlockBuilder, input: Expr, dim: int | None = None, keepdim: bool = False
    ) -> Expr:
        axis = None if dim is None else written_axis(dim, rank(input))
        found: Expr = rule(input, axis, keepdim)
        return found

    return apply


convert("argmax")(along_an_axis(_index_rule(op.argmax)))
convert("argmin")(along_an_axis(_index_rule(op.argmin)))


@convert("any", "_is_any_true")
def any_(bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    return _holds(bb, amax, input, dim, keepdim)


@convert("all", "_is_all_true")
def all_(bb: BlockBuilder, input: Expr, dim: Any = None, keepdim: bool = False) -> Any:
    return _holds(bb, amin, input, dim, keepdim)


def _holds(bb: BlockBuilder, rule: Any, input: Expr, dim: Any, keepdim: bool) -> Expr:
    """The largest or smallest truth value; torch gives bytes for bytes."""
    x = cast(bb, cast(bb, input, "bool"), "int8")
    found = cast(bb, bb.emit(rule(bb, x, dim, keepdim)), "bool")
    return cast(bb, found, "uint8") if dtype_of(input) == "uint8" else found


@convert("count_nonzero")
def count_nonzero(bb: BlockBuilder, input: Expr, dim: Any = None) -> Any:
    return sum_(bb, cast(bb, input, "bool"), dim)


def _count(x: Expr, dim: Any) -> Any:
    """How many elements one result of a reduction is made of."""
    extents = sizes(x)
    axes = axes_of(dim, len(extents))
    return product(extents if axes is None else [extents[axis] for axis in axes])


def _variance(bb: BlockBuilder, x: Expr, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The mean square distance from the mean, over n - correction in place of n."""
    plain = bb.emit(op.variance(x, written_axes(dim, rank(x)), keepdim))
    if correction == 0:
        return plain
    count, dtype = _count(x, dim), dtype_of(x)
    if isinstance(count, int):
        left = count - correction
        factor = scalar(count / left if left > 0 else math.inf, dtype)
        return bb.emit(op.multiply(plain, factor))
    size = cast(bb, bb.emit(size_tensor(count)), dtype)
    return bb.emit(
        op.multiply(plain, op.divide(size, op.subtract(size, scalar(float(correction), dtype))))
    )


def _correction(unbiased: Any, correction: Any) -> Any:
    """Torch says n - 1 either way."""
    if correction is not None:
        return correction
    return 1 if unbiased in (None, True) else 0


def _moment(root: bool, with_mean: bool) -> Callable[..., Any]:
    """Of the variance, or of the standard deviation; and the mean."""

    def apply(
        bb: BlockBuilder,
        input: Expr,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):  # the overload without axes
            dim, unbiased = None, dim
        taken = _correction(unbiased, correction)
        axes = written_axes(dim, rank(input))
        if root and taken == 0:
            spread = op.std(input, axes, keepdim)
        else:
            spread = _variance(bb, input, dim, taken, keepdim)
            spread = op.sqrt(spread) if root else spread
        return (spread, op.mean(input, axes, keepdim)) if with_mean else spread

    return apply


convert("var")(_moment(False, False))
convert("std")(_moment(True, False))
convert("var_mean")(_moment(False, True))
convert("std_mean")(_moment(True, True))


@convert("logsumexp", "special_logsumexp")
@along_an_axis
def logsumexp(bb: BlockBuilder, input: Expr, dim: Any, keepdim: bool = False) -> Any:
    """log(sum(exp(x))), with the largest element taken out before."""
    x = floating(bb, input)
    axes = written_axes(dim, rank(x))
    largest = bb.emit(op.max(x, axes, True))
    # where all are infinite, the difference would be none
    largest = bb.emit(op.where(op.isinf(largest), scalar(0.0, dtype_of(x)), largest))
    total = bb.emit(op.log(op.sum(op.exp(op.subtract(x, largest)), axes, keepdim)))
    return op.add(total, largest if keepdim else op.squeeze(largest, axes))


def norm(bb: BlockBuilder, x: Expr, p: Any, dim: Any, keepdim: bool = False) -> Any:
    """The p-norm along axes."""
    axes, dtype = written_axes(dim, rank(x)), dtype_of(x)
    if p == math.inf:
        return op.max(op.abs(x), axes, keepdim)
    if p == -math.inf:
        return op.min(op.abs(x), axes, keepdim)
    if p == 0:
        held = op.astype(op.not_equal(x, scalar(0.0, dtype)), dtype)
        return op.sum(held, axes, keepdim)
    total = op.sum(op.power(op.abs(x), scalar(float(p), dtype)), axes, keepdim)
    return op.power(total, scalar(1.0 / p, dtype))


@convert("linalg_norm")
def linalg_norm(
    bb: BlockBuilder, input: Expr, ord: Any = None, dim: Any = None, keepdim: bool = False,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Of matrices, where an order is given for two axes; else of vectors."""
    over = list(range(rank(input))) if dim is None else axes_of(dim, rank(input)) or []
    if ord is None or len(over) != 2:
        return vector_norm(bb, input, ord, dim, keepdim, dtype)
    return matrix_norm(bb, input, ord, dim or (0, 1), keepdim, dtype)


@convert("linalg_matrix_norm")
def matrix_norm(
    bb: BlockBuilder, input: Expr, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The root of all squares, the largest (smallest) sum of a row or a column, or singular values.

    Of those the sum (`nuc`), the largest (2) or the smallest (-2).
    """
    x = input if dtype is None else cast(bb, input, dtype)
    if ord == "fro":
        return norm(bb, x, 2, list(dim), keepdim)
    if ord not in (1, -1, 2, -2, "nuc", math.inf, -math.inf):
        raise refuse("matrix_norm: ord", repr(ord), "'fro', 'nuc', 1, -1, 2, -2, inf, -inf")
    rows, columns = axes_of(dim, rank(x)) or []
    if ord in (2, -2, "nuc"):
        from .spectra import svdvals

        outer = [axis for axis in range(rank(x)) if axis not in (rows, columns)]
        last = bb.emit(op.permute_dims(x, [*outer, rows, columns]))
        values = bb.emit(svdvals(bb, last))
        chosen = op.sum if ord == "nuc" else op.max if ord == 2 else op.min
        made = bb.emit(chosen(values, [-1]))
        return op.expand_dims(made, sorted([rows, columns])) if keepdim else made
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = bb.emit(op.sum(op.abs(x), summed, True))
    best = bb.emit((op.max if ord > 0 else op.min)(sums, kept, True))
    return best if keepdim else op.squeeze(best, [rows, columns])


@convert("norm", "linalg_vector_norm", "vector_norm")
@along_an_axis
def vector_norm(
    bb: BlockBuilder, input: Expr, p: Any = None, dim: Any = None, keepdim: bool = False,
    dtype: Any = None, **options: Any,
) -> Any:  # fmt: skip
    x = input if dtype is None else cast(bb, input, dtype)
    order = options.get("ord", p)
    if order == "fro":
        return op.sqrt(op.sum(op.multiply(x, x), written_axes(dim, rank(x)), keepdim))
    if order is None:
        order = 2
    if order == "nuc":
        return matrix_norm(bb, x, "nuc", [0, 1] if dim is None else dim, keepdim)
    if isinstance(order, str):
        raise refuse("norm: p", repr(order), "a number, 'fro' or 'nuc'")
    return norm(bb, x, order, dim, keepdim)


@convert("cumsum")
@along_an_axis
def cumsum(bb: BlockBuilder, input: Expr, dim: int, dtype: Any = None) -> Any:
    kind = dtype or (None if is_float(dtype_of(input)) else "int64")
    return op.cumsum(input, written_axis(dim, rank(input)), kind)


@convert("cumprod")
@along_an_axis
def cumprod(bb: BlockBuilder, input: Expr, dim: int, dtype: Any = None) -> Any:
    kind = dtype or (None if is_float(dtype_of(input)) else "int64")
    return op.cumprod(input, written_axis(dim, rank(input)), kind)


def _running(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(bb: BlockBuilder, input: Expr, dim: int) -> Any:
        """The best element so far, the last of equal ones, with its place; a NaN stays the best."""
        axis, kind = written_axis(dim, rank(input)), dtype_of(input)

        def stays(before: Any, now: Any) -> Any:
            if not is_float(kind):
                return better(before, now)
            kept = tir.all(tir.isnan(before), tir.Not(tir.isnan(now)))
            return tir.any(better(before, now), kept)

        places = bb.emit_te(running_place, input, axis, stays, primfunc_name_hint="running_place")
        return bb.emit(op.gather_elements(input, places, axis)), places

    return apply


convert("cummax")(along_an_axis(_running(lambda before, now: before > now)))
convert("cummin")(along_an_axis(_running(lambda before, now: before < now)))


@convert("logcumsumexp")
@along_an_axis
def logcumsumexp(bb: BlockBuilder, input: Expr, dim: int) -> Expr:
    """log(cumsum(exp(x))), with the largest element of the row taken out before."""
    axis = written_axis(dim, rank(input))
    largest = bb.emit(op.max(input, axis, True))
    return op.add(op.log(op.cumsum(op.exp(op.subtract(input, largest)), axis)), largest)


@convert("diff")
def diff(
    bb: BlockBuilder, input: Expr, n: int = 1, dim: int = -1, prepend: Any = None,
    append: Any = None,
) -> Expr:  # fmt: skip
    """Differences of neighbours, n times."""
    if n == 0:
        return input
    axis = axis_of(dim, rank(input))
    parts = [part for part in (prepend, input, append) if part is not None]
    x = input if len(parts) == 1 else bb.emit(op.concat(parts, axis))
    for _ in range(n):
        size = sizes(x)[axis]
        late = op.strided_slice(x, [axis], [1], [size])
        early = op.strided_slice(x, [axis], [0], [size - 1])
        rule = op.not_equal if dtype_of(x) == "bool" else op.subtract
        x = bb.emit(rule(late, early))
    return x


@convert("dist")
def dist(bb: BlockBuilder, input: Expr, other: Expr, p: float = 2.0) -> Any:
    return norm(bb, bb.emit(op.subtract(input, other)), p, None)


@convert("histc")
def histc(
    bb: BlockBuilder, input: Expr, bins: int = 100, min: float = 0, max: float = 0
) -> Expr:
    """How many numbers lie in each of equal parts of a range; an empty one is that of them all."""
    dtype = dtype_of(input)
    flat = bb.emit(op.reshape(input, [-1]))
    wide = cast(bb, flat, "float64" if dtype == "float64" else "float32")
    kind = dtype_of(wide)
    low: Expr = scalar(float(min), kind)
    high: Expr = scalar(float(max), kind)
    if min == max:
        low, high = _range(bb, wide)
    share = op.divide(op.subtract(wide, low), op.subtract(high, low))
    bin_index = cast(bb, bb.emit(op.floor(op.multiply(share, scalar(float(bins), kind)))), "int64")
    bin_index = bb.emit(op.clip(bin_index, 0, bins - 1))  # the last part has both of its ends
    inside = op.logical_and(op.greater_equal(wide, low), op.less_equal(wide, high))
    counts = bb.emit(op.zeros([bins], dtype))
    return op.scatter_elements(counts, bin_index, op.astype(inside, dtype), 0, "add")


def _range(bb: BlockBuilder, x: Expr) -> tuple[Expr, Expr]:
    """The least and the greatest number; one below and above where they are the same."""
    low, high = bb.emit(op.min(x)), bb.emit(op.max(x))
    one = op.astype(op.equal(low, high), dtype_of(x))
    return bb.emit(op.subtract(low, one)), bb.emit(op.add(high, one))
