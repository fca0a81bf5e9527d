"""Elements picked by index tensors, by conditions, by their index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr

from . import tag
from .broadcast import Broadcasting, broadcast_to, operand_indices
from .common import check_same, compute, known, stage, unravel
from .scatter_elements import from_front
from .utils import get_const_int, normal_axis


def _nan(dtype: Any) -> PrimExpr:
    return tir.const(math.nan, dtype)


def _guarded(
    mode: str, index: PrimExpr, extent: Any, load: Callable[[PrimExpr], PrimExpr], dtype: Any
) -> PrimExpr:
    """An element by an index that may lie outside, in the way that `mode` says."""
    if mode == "fast":
        return load(index)
    if mode == "clip":
        zero = tir.const(0, index.dtype)
        return load(te.min(te.max(zero, index), as_expr(extent) - 1))
    if mode == "wrap":
        return load(tir.truncmod(tir.truncmod(index, extent) + extent, extent))
    if mode == "nan":
        inside = tir.all(index >= 0, index < extent)
        return tir.if_then_else(inside, load(index), _nan(dtype))
    raise ValueError(f"topi.take: mode {mode!r}; legal: 'clip', 'wrap', 'fast', 'nan'")


@explained
def take(
    a: te.Tensor, indices: te.Tensor | PrimExpr, axis: int | None = None, batch_dims: int = 0,
    mode: str = "fast",
) -> te.Tensor:  # fmt: skip
    """Elements along an axis (of the flattened tensor, without one) by index.

    (..., n, ...), (k,) -> (..., k, ...);   by one number: (..., n, m), i -> (..., m)
    """
    if not isinstance(indices, te.Tensor):
        if axis is None:
            raise TypeError("topi.take: a number and no axis; legal: an axis, or a tensor")
        return _take_one(a, as_expr(indices), normal_axis(axis, a.ndim, "topi.take"), mode)
    if axis is None:
        return _take_flat(a, indices, mode)
    dim = normal_axis(axis, a.ndim, "topi.take")
    batch = int(batch_dims)
    if batch < 0:
        batch += indices.ndim
    if not 0 <= batch <= min(dim, indices.ndim):
        raise ShapeError(
            f"topi.take: batch_dims {batch_dims}; legal: 0 to axis ({dim}), and to the "
            f"{indices.ndim} dimensions of the indices"
        )
    rest = indices.ndim - batch
    shape = [*a.shape[:dim], *indices.shape[batch:], *a.shape[dim + 1 :]]
    extent = a.shape[dim]

    def element(*i: Any) -> PrimExpr:
        own = indices(*i[:batch], *i[dim : dim + rest])

        def load(index: PrimExpr) -> PrimExpr:
            return a(*i[:dim], index, *i[dim + rest :])

        return _guarded(mode, own, extent, load, a.dtype)

    return stage(shape, element, "T_take", tag.INJECTIVE)


def _take_one(a: te.Tensor, index: PrimExpr, dim: int, mode: str) -> te.Tensor:
    def element(*i: Any) -> PrimExpr:
        return _guarded(mode, index, a.shape[dim], lambda x: a(*i[:dim], x, *i[dim:]), a.dtype)

    return stage([*a.shape[:dim], *a.shape[dim + 1 :]], element, "T_take", tag.INJECTIVE)


def _take_flat(a: te.Tensor, indices: te.Tensor, mode: str) -> te.Tensor:
    size: Any = tir.const(1, "int32")
    for extent in a.shape:
        size = size * extent

    def element(*i: Any) -> PrimExpr:
        return _guarded(mode, indices(*i), size, lambda x: a(*unravel(x, a.shape)), a.dtype)

    return stage(indices.shape, element, "T_take", tag.INJECTIVE)


@explained
def gather(data: te.Tensor, axis: int, indices: te.Tensor) -> te.Tensor:
    """out[i, j, k] = data[i, indices[i, j, k], k] for axis 1, and so for each axis."""
    dim = normal_axis(axis, data.ndim, "topi.gather")
    if indices.ndim != data.ndim:
        raise ShapeError(
            message(
                "topi.gather",
                found=f"data of {data.ndim} dimensions, indices of {indices.ndim}",
                legal="as many of each",
            )
        )
    for k, (own, other) in enumerate(zip(indices.shape, data.shape)):
        both = k != dim and known(own) and known(other)
        if both and get_const_int(own) > get_const_int(other):
            raise ShapeError(
                message(
                    f"topi.gather: dimension {k} of the indices",
                    found=f"extent {own} for data of extent {other}",
                    legal="at most that of the data, but for the axis",
                )
            )
    return stage(
        indices.shape,
        lambda *i: data(*i[:dim], indices(*i), *i[dim + 1 :]),
        "T_gather",
        tag.INJECTIVE,
    )


@explained
def gather_nd(a: te.Tensor, indices: te.Tensor, batch_dims: int = 0) -> te.Tensor:
    """out[j...] = a[indices[0, j...], indices[1, j...], ...]; batch dimensions are shared."""
    _at_least(1, indices, "gather_nd")
    depth, batch = get_const_int(indices.shape[0]), int(batch_dims)
    if depth + batch > a.ndim:
        raise ShapeError(
            message(
                "topi.gather_nd",
                found=f"{depth} indices and {batch} batch dimensions for {a.ndim} dimensions",
                legal="at most as many as the data has dimensions",
            )
        )
    lead = indices.ndim - 1
    shape = [*indices.shape[1:], *a.shape[depth + batch :]]

    def element(*i: Any) -> PrimExpr:
        own = [_whole(indices(k, *i[:lead])) for k in range(depth)]
        return a(*i[:batch], *own, *i[lead:])

    return stage(shape, element, "T_gather_nd", tag.INJECTIVE)


def _whole(index: PrimExpr) -> PrimExpr:
    """An index; one that is given as a floating number is cut to a whole one."""
    return index if index.dtype.is_integer else index.astype("int32")


def _at_least(ndim: int, tensor: te.Tensor, what: str) -> None:
    if tensor.ndim < ndim:
        raise ShapeError(
            message(
                f"topi.{what}: {tensor.name}",
                found=f"{tensor.ndim} dimensions",
                legal=f"at least {ndim}",
            )
        )


@explained
def adv_index(data: te.Tensor, indices: Sequence[te.Tensor]) -> te.Tensor:
    """data[indices[0], indices[1], ...]: index tensors are broadcast with each other."""
    if not indices or len(indices) > data.ndim:
        raise ShapeError(
            f"topi.adv_index: {len(indices)} index tensors for {data.ndim} dimensions; "
            "legal: one or more, at most one for each dimension"
        )
    return _index_by(data, list(indices), 0, "advanced_index")


def _index_by(data: te.Tensor, indices: list[te.Tensor], start: int, name: str) -> te.Tensor:
    """Index tensors for the dimensions from `start` on; their common shape stands there."""
    common: Sequence[Any] = indices[0].shape
    for other in indices[1:]:
        common = Broadcasting(common, other.shape).shape
    if len(indices) > 1:
        indices = [broadcast_to(index, common) for index in indices]
    count = len(common)
    shape = [*data.shape[:start], *common, *data.shape[start + len(indices) :]]

    def element(*i: Any) -> PrimExpr:
        own = i[start : start + count]
        picked = [index(*own) for index in indices]
        return data(*i[:start], *picked, *i[start + count :])

    return stage(shape, element, name, tag.INJECTIVE)


@explained
def index_tensor(data: te.Tensor, indices: Sequence[te.Tensor | None]) -> te.Tensor:
    """data[indices], as in numpy: None takes a whole axis, tensors are broadcast with each other.

    The common shape of the index tensors stands where they stand if they are neighbours, else
    first. Indices count from the front.
    """
    return _indexed(data, indices, whole=True)


def index_tensor_of_any_sign(data: te.Tensor, indices: Sequence[te.Tensor | None]) -> te.Tensor:
    """`index_tensor` where negative indices count from the end."""
    return _indexed(data, indices, whole=False)


def _indexed(data: te.Tensor, indices: Sequence[te.Tensor | None], whole: bool) -> te.Tensor:
    """With `whole`, index tensors are broadcast before, and taken as they are."""
    given = list(indices)
    if len(given) > data.ndim:
        raise ShapeError(
            f"topi.index_tensor: {len(given)} indices for {data.ndim} dimensions; legal: at most "
            "one for each"
        )
    taken = [k for k, index in enumerate(given) if index is not None]
    if not taken:
        raise ShapeError("topi.index_tensor: every index is None; legal: at least one tensor")
    common: Sequence[Any] = _tensor(given[taken[0]]).shape
    for k in taken[1:]:
        common = Broadcasting(common, _tensor(given[k]).shape).shape
    if whole and len(taken) > 1:
        for k in taken:
            given[k] = broadcast_to(_tensor(given[k]), common)
    moves = {k: Broadcasting(common, _tensor(given[k]).shape).right for k in taken}
    neighbours = taken[-1] - taken[0] + 1 == len(taken)
    lead = taken[0] if neighbours else 0
    rest = [k for k in range(data.ndim) if k not in taken]
    shape = [data.shape[k] for k in rest]
    shape[lead:lead] = common

    def element(*i: Any) -> PrimExpr:
        shared, others = i[lead : lead + len(common)], [*i[:lead], *i[lead + len(common) :]]
        own: list[Any] = [None] * data.ndim
        for k, other in zip(rest, others):
            own[k] = other
        for k in taken:
            index = _tensor(given[k])(*operand_indices(shared, moves[k]))
            own[k] = index if whole else from_front(index, data.shape[k])
        return data(*own)

    return stage(shape, element, "advanced_index", tag.INJECTIVE)


def _tensor(index: te.Tensor | None) -> te.Tensor:
    assert index is not None, "dimensions without a tensor were left out"
    return index


@explained
def sequence_mask(
    data: te.Tensor, valid_length: te.Tensor, mask_value: float = 0, axis: int = 0
) -> te.Tensor:
    """`mask_value` beyond the valid length of each sequence; axis 0 or 1 runs along a sequence."""
    if data.ndim < 2 or valid_length.ndim != 1 or axis not in (0, 1):
        raise ShapeError(
            message(
                "topi.sequence_mask",
                found=f"{data.ndim} dimensions, {valid_length.ndim} of the lengths, axis {axis}",
                legal="data of at least 2 dimensions, lengths of one, axis 0 or 1",
            )
        )
    check_same(
        "topi.sequence_mask", "sequences and their lengths", data.shape[1 - axis],
        valid_length.shape[0],
    )  # fmt: skip
    value = tir.const(mask_value, data.dtype)

    def element(*i: Any) -> PrimExpr:
        step, sequence = i[axis], i[1 - axis]
        beyond = step.astype(valid_length.dtype) >= valid_length(sequence)
        return tir.if_then_else(beyond, value, data(*i))

    return stage(data.shape, element, "T_sequence_mask", tag.INJECTIVE)


@explained
def where(condition: te.Tensor, x: te.Tensor, y: te.Tensor) -> te.Tensor:
    """x where the condition holds, else y; all three are broadcast together."""
    if x.dtype != y.dtype:
        raise ShapeError(
            message("topi.where", found=f"x is {x.dtype}, y is {y.dtype}", legal="one type")
        )
    pair = Broadcasting(x.shape, y.shape).shape
    shape = Broadcasting(condition.shape, pair).shape
    moves = [Broadcasting(shape, t.shape).right for t in (condition, x, y)]

    def element(*i: Any) -> PrimExpr:
        c, a, b = (t(*operand_indices(i, m)) for t, m in zip((condition, x, y), moves))
        holds = tir.const(0, "int32") < c.astype("int32") if c.dtype == "bool" else c != 0
        return tir.Select(as_expr(holds), a, b)

    return stage(shape, element, "T_where", tag.BROADCAST)


@explained
def one_hot(
    indices: te.Tensor, on_value: Any, off_value: Any, depth: Any, axis: int, dtype: Any
) -> te.Tensor:
    """A new axis of extent `depth` that is on at the index, off elsewhere."""
    dim = indices.ndim if axis == -1 else normal_axis(axis, indices.ndim + 1, "topi.one_hot")
    shape = [*indices.shape[:dim], depth, *indices.shape[dim:]]
    on, off = (as_expr(v).astype(dtype) for v in (on_value, off_value))

    def element(*i: Any) -> PrimExpr:
        own = indices(*i[:dim], *i[dim + 1 :])
        return tir.Select(own.equal(i[dim]), on, off)

    return stage(shape, element, "T_one_hot", tag.INJECTIVE)


@explained
def unravel_index(indices: te.Tensor, shape: te.Tensor) -> te.Tensor:
    """The indices of elements by number, for the extents in a tensor.   (n,), (d,) -> (d, n)"""
    _at_least(1, shape, "unravel_index")
    ndim = get_const_int(shape.shape[0])
    out = [ndim, *indices.shape[:1]]

    def element(*i: Any) -> PrimExpr:
        number: PrimExpr = indices(*i[1:])
        value: PrimExpr = tir.const(0, number.dtype)
        for axis in range(ndim - 1, -1, -1):
            extent = shape(axis).astype(number.dtype)
            value = tir.if_then_else(i[0].equal(axis), tir.indexmod(number, extent), value)
            number = tir.indexdiv(number, extent)
        return value

    return stage(out, element, "T_unravel", tag.INJECTIVE)


@explained
def sparse_to_dense(
    sparse_indices: te.Tensor, output_shape: Sequence[Any], sparse_values: te.Tensor,
    default_value: Any = 0,
) -> te.Tensor:  # fmt: skip
    """Given values at given indices, the default elsewhere; the last of equals wins."""
    if sparse_indices.ndim > 2 or sparse_values.ndim > 1:
        raise ShapeError(
            message(
                "topi.sparse_to_dense",
                found=f"{sparse_indices.ndim} and {sparse_values.ndim} dimensions",
                legal="indices of at most 2 dimensions, values of at most 1",
            )
        )
    if sparse_indices.ndim and sparse_values.ndim:
        check_same(
            "topi.sparse_to_dense", "indices and values", sparse_indices.shape[0],
            sparse_values.shape[0],
        )  # fmt: skip
    if sparse_indices.ndim == 2:
        check_same(
            "topi.sparse_to_dense", "columns of the indices and dimensions of the result",
            sparse_indices.shape[1], len(output_shape),
        )  # fmt: skip
    fallback = default_value() if isinstance(default_value, te.Tensor) else default_value
    start = as_expr(fallback).astype(sparse_values.dtype)

    def value(j: int) -> PrimExpr:
        return sparse_values(j) if sparse_values.ndim else sparse_values()

    def element(*i: Any) -> PrimExpr:
        result = start
        if sparse_indices.ndim == 0:
            return tir.if_then_else(i[0].equal(sparse_indices()), value(0), result)
        for j in range(get_const_int(sparse_indices.shape[0])):
            if sparse_indices.ndim == 1:
                here = i[0].equal(sparse_indices(j))
            else:
                here = tir.all(*[x.equal(sparse_indices(j, k)) for k, x in enumerate(i)])
            result = tir.if_then_else(here, value(j), result)
        return result

    return stage(list(output_shape), element, "T_sparse_to_dense", tag.INJECTIVE)


@explained
def matrix_set_diag(
    data: te.Tensor, diagonal: te.Tensor, k: Any = 0, align: str = "RIGHT_LEFT"
) -> te.Tensor:
    """`data` with its k-th diagonals (one, or those from k[0] to k[1]) taken from `diagonal`."""
    low, high = (int(k[0]), int(k[-1])) if isinstance(k, (tuple, list)) else (int(k), int(k))
    one_diagonal = low == high and diagonal.ndim == data.ndim - 1
    _at_least(2, data, "matrix_set_diag")
    _check_diagonals(data, diagonal, low, high, one_diagonal)
    right_above, right_below = align[:5] == "RIGHT", align[-5:] == "RIGHT"
    rows, columns = data.shape[-2], data.shape[-1]

    def smaller(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return tir.if_then_else(a < b, a, b)

    def offset(d: PrimExpr) -> PrimExpr:
        """How far shorter diagonals are moved to the right."""
        longest, zero = diagonal.shape[-1], tir.const(0, d.dtype)
        above, below = smaller(columns - d, rows), smaller(columns, rows + d)
        return tir.if_then_else(
            d >= 0,
            longest - above if right_above else zero,
            longest - below if right_below else zero,
        )

    def element(*i: Any) -> PrimExpr:
        row, column = i[-2], i[-1]
        d = column - row
        along = tir.if_then_else(d >= 0, row, column)
        if one_diagonal:
            own = diagonal(*i[:-2], along)
        else:
            own = diagonal(*i[:-2], tir.const(high, d.dtype) - d, along + offset(d))
        other = data(*i)
        return tir.if_then_else(d >= low, tir.if_then_else(d <= high, own, other), other)

    return stage(data.shape, element, "T_matrix_set_diag", tag.INJECTIVE)


def _check_diagonals(
    data: te.Tensor, diagonal: te.Tensor, low: int, high: int, one_diagonal: bool
) -> None:
    """The diagonals have the leading dimensions of the data, and the longest fits."""
    lead = data.ndim - 2
    if diagonal.ndim != lead + (1 if one_diagonal else 2):
        raise ShapeError(
            message(
                "topi.matrix_set_diag",
                found=f"{diagonal.ndim} dimensions of the diagonals, {data.ndim} of the data",
                legal="one less for one diagonal, as many for several",
            )
        )
    for own, other in zip(diagonal.shape[:lead], data.shape):
        check_same("topi.matrix_set_diag", "leading dimensions", own, other)
    if not one_diagonal:
        check_same("topi.matrix_set_diag", "diagonals", diagonal.shape[lead], high - low + 1)
    if known(data.shape[-2]) and known(data.shape[-1]):
        rows, columns = get_const_int(data.shape[-2]), get_const_int(data.shape[-1])
        longest = max(min(columns - max(d, 0), rows + min(d, 0)) for d in range(low, high + 1))
        check_same("topi.matrix_set_diag", "the longest diagonal", diagonal.shape[-1], longest)


@explained
def trilu(data: te.Tensor, k: Any, upper: bool) -> te.Tensor:
    """The upper (or lower) triangle from the k-th diagonal on, zero elsewhere."""
    zero = tir.const(0, data.dtype)

    def element(*i: Any) -> PrimExpr:
        row, column = i[-2], i[-1]
        kept = row <= column - k if upper else row >= column - k
        return tir.Select(kept, data(*i), zero)

    return compute(data.shape, element, name="trilu", tag=tag.ELEMWISE)
