"""Orders: sorted tensors, largest elements, places where something holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Tuple, TupleGetItem, const
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.tir.expr import SizeVar

from .registry import convert
from .values import (
    Expr,
    along_an_axis,
    axis_of,
    cast,
    dtype_of,
    product,
    rank,
    read_size,
    scalar,
    sizes,
    tensor_of,
    written_axis,
)


@convert("msort")
def msort(bb: BlockBuilder, input: Expr) -> Any:
    """The values alone, sorted along the first axis."""
    return TupleGetItem(sort(bb, input, 0), 0) if rank(input) else input


@convert("sort")
@along_an_axis
def sort(
    bb: BlockBuilder, input: Expr, dim: int = -1, descending: bool = False, stable: Any = None
) -> Any:
    """Values and their indices before."""
    axis = written_axis(dim, rank(input))
    indices = bb.emit(op.argsort(input, axis, descending, "int64"))
    values = bb.emit(op.gather_elements(input, indices, axis))
    return bb.emit(Tuple([values, indices]))


@convert("sort.stable")
@along_an_axis
def stable_sort(
    bb: BlockBuilder, input: Expr, stable: Any = None, dim: int = -1, descending: bool = False
) -> Any:
    return sort(bb, input, dim, descending)


@convert("argsort")
@along_an_axis
def argsort(
    bb: BlockBuilder, input: Expr, dim: int = -1, descending: bool = False, stable: Any = None
) -> Expr:
    return op.argsort(input, written_axis(dim, rank(input)), descending, "int64")


@convert("argsort.stable")
@along_an_axis
def stable_argsort(
    bb: BlockBuilder, input: Expr, stable: Any = None, dim: int = -1, descending: bool = False
) -> Any:
    return argsort(bb, input, dim, descending)


@convert("topk")
@along_an_axis
def topk(
    bb: BlockBuilder, input: Expr, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Expr:
    if isinstance(k, PrimExpr):
        axis = written_axis(dim, rank(input))
        indices = bb.emit(op.argsort(input, axis, largest, "int64"))
        indices = bb.emit(op.strided_slice(indices, [axis], [0], [k]))
        return bb.emit(Tuple([bb.emit(op.gather_elements(input, indices, axis)), indices]))
    return op.topk(input, k, written_axis(dim, rank(input)), "both", largest, "int64")


@convert("kthvalue")
@along_an_axis
def kthvalue(
    bb: BlockBuilder, input: Expr, k: int, dim: int = -1, keepdim: bool = False
) -> Any:
    """The k-th smallest element and its index."""
    axis = written_axis(dim, rank(input))
    indices = bb.emit(op.argsort(input, axis, False, "int64"))
    position = bb.emit(op.strided_slice(indices, [axis], [k - 1], [k]))
    value = bb.emit(op.gather_elements(input, position, axis))
    if keepdim:
        return value, position
    return op.squeeze(value, [axis]), op.squeeze(position, [axis])


@convert("median")
@along_an_axis
def median(bb: BlockBuilder, input: Expr, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two middle elements."""
    if dim is None:
        flat = bb.emit(op.reshape(input, [product(sizes(input))]))
        count = sizes(flat)[0]
        return kthvalue(bb, flat, (count + 1) // 2, 0)[0]
    count = sizes(input)[axis_of(dim, rank(input))]
    return kthvalue(bb, input, (count + 1) // 2, dim, keepdim)


@convert("mode")
@along_an_axis
def mode(bb: BlockBuilder, input: Expr, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element, the smallest of those, and the place where it is last."""
    from .special import most_frequent

    axis = axis_of(dim, rank(input))
    order = [*(i for i in range(rank(input)) if i != axis), axis]
    x = bb.emit(op.permute_dims(input, order))
    *outer, count = sizes(x)
    places = bb.emit(op.argsort(x, -1, False, "int64"))
    rows = [
        bb.emit(op.reshape(one, [product(outer), count]))
        for one in (bb.emit(op.gather_elements(x, places, len(outer))), places)
    ]
    made = bb.emit_te(most_frequent, *rows, primfunc_name_hint="mode")
    shape = [*outer[:axis], 1, *outer[axis:]] if keepdim else outer
    return tuple(op.reshape(bb.emit(TupleGetItem(made, i)), shape) for i in range(2))


@convert("nonzero")
def nonzero(bb: BlockBuilder, input: Expr, as_tuple: bool = False) -> Any:
    """(count, axes): the indices of the nonzero elements."""
    if as_tuple:
        return nonzero_columns(bb, input)
    return op.permute_dims(_nonzero_indices(bb, input), [1, 0])


def _nonzero_indices(bb: BlockBuilder, x: Expr) -> Expr:
    """(axes, count), with a symbol for the count."""
    return counted(bb, op.nonzero(x), [rank(x), None])


def counted(bb: BlockBuilder, x: Expr, shape: Sequence[Any]) -> Expr:
    """A tensor whose shape depends on values: a new symbol stands for each None."""
    made = bb.normalize_argument(x)
    extents = [
        SizeVar(bb.get_unique_name("count"), "int64") if size is None else size for size in shape
    ]
    return bb.match_cast(made, TensorStructInfo(extents, dtype_of(made)))


@convert("argwhere")
def argwhere(bb: BlockBuilder, input: Expr) -> Any:
    return nonzero(bb, input)


def nonzero_columns(bb: BlockBuilder, x: Expr) -> Any:
    """One tensor of indices an axis."""
    indices = _nonzero_indices(bb, x)
    return tuple(bb.emit(op.take(indices, const(i, "int64"), 0)) for i in range(rank(x)))


@convert("bincount")
def bincount(
    bb: BlockBuilder, input: Expr, weights: Expr | None = None, minlength: int = 0
) -> Expr:
    """How often each number occurs, or the sum of its weights: at least `minlength` numbers."""
    indices, one = cast(bb, input, "int64"), scalar(1, "int64")
    count = sizes(input)[0]
    # an empty tensor has no largest element: one is put in front, and counts as -1
    padded = bb.emit(op.concat((op.full(ShapeExpr([1]), scalar(-1, "int64"), "int64"), indices), 0))
    larger = op.maximum(op.add(op.max(padded), one), scalar(minlength, "int64"))
    length = read_size(bb, bb.emit(larger))
    ones: Expr = op.ones(ShapeExpr([count]), "int64")
    kind = "int64"
    if weights is not None:  # summed in double precision, other than float32
        kind = "float32" if dtype_of(weights) == "float32" else "float64"
        ones = cast(bb, weights, kind)
    zeros = bb.emit(op.zeros(ShapeExpr([length]), kind))
    return op.scatter_elements(zeros, indices, bb.emit(ones) if weights is None else ones, 0, "add")


@convert("bucketize")
def bucketize(
    bb: BlockBuilder, input: Any, boundaries: Expr, out_int32: bool = False, right: bool = False
) -> Expr:
    x = input if isinstance(input, RelaxExpr) else tensor_of(bb, input, dtype_of(boundaries))
    return op.bucketize(x, boundaries, out_int32, right)


@convert("searchsorted")
def searchsorted(
    bb: BlockBuilder, sorted_sequence: Expr, input: Any, out_int32: bool = False,
    right: bool = False, side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """Of one row of bounds as `bucketize`; of several, by counting the bounds before each value."""
    if sorter is not None:
        sorted_sequence = bb.emit(op.gather_elements(sorted_sequence, sorter, -1))
    behind = right or side == "right"
    x = tensor_of(bb, input, dtype_of(sorted_sequence))
    if rank(sorted_sequence) == 1:
        return op.bucketize(x, sorted_sequence, out_int32, behind)
    before = op.less_equal if behind else op.less
    held = before(op.expand_dims(sorted_sequence, -2), op.expand_dims(x, -1))
    return op.sum(op.astype(held, "int32" if out_int32 else "int64"), -1)


def _asked(made: Sequence[Any], flags: Mapping[str, Any]) -> Any:
    """Elements, places and counts, as far as the flags ask for them."""
    inverse, counts = (flags.get(name, False) for name in ("return_inverse", "return_counts"))
    asked = [one for one, wanted in zip(made, (True, inverse, counts)) if wanted]
    return asked[0] if len(asked) == 1 else tuple(asked)


@convert("unique")
def asked_unique(bb: BlockBuilder, input: Expr, *args: Any, **named: Any) -> Any:
    """`torch.unique` gives what is asked for alone."""
    flags = dict(zip(("sorted", "return_inverse", "return_counts"), args), **named)
    return _asked(unique(bb, input, *args, **named), flags)


@convert("_unique2")
def unique(
    bb: BlockBuilder, input: Expr, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False, dim: int | None = None,
) -> Any:  # fmt: skip
    """The values, where each element is among them, and how many there are of each."""
    made = bb.emit(op.unique(input, sorted, False, return_inverse, return_counts, dim))
    several = return_inverse or return_counts
    shape: list[Any] = [None]
    if dim is not None:
        shape = list(sizes(input))
        shape[axis_of(dim, rank(input))] = None
    values = counted(bb, TupleGetItem(made, 0) if several else made, shape)
    inverse: Expr = Constant(np.zeros(0, "int64"))
    counts: Expr = inverse
    if return_inverse:
        flat = TupleGetItem(made, 1)
        inverse = op.reshape(flat, sizes(input)) if dim is None else flat
    if return_counts:
        held = sizes(values)[axis_of(dim or 0, rank(values))]
        info = TensorStructInfo([held], "int64")
        counts = bb.match_cast(bb.emit(TupleGetItem(made, 1 + return_inverse)), info)
    return values, inverse, counts


@convert("unique_dim")
def unique_dim(
    bb: BlockBuilder, input: Expr, dim: int, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:  # fmt: skip
    return unique(bb, input, sorted, return_inverse, return_counts, dim)


@convert("unique_consecutive")
def asked_unique_consecutive(bb: BlockBuilder, input: Expr, *args: Any, **named: Any) -> Any:
    """`torch.unique_consecutive` gives what is asked for alone."""
    flags = dict(zip(("return_inverse", "return_counts"), args), **named)
    return _asked(unique_consecutive(bb, input, *args, **named), flags)


@convert("unique_consecutive.default")
def unique_consecutive(
    bb: BlockBuilder, input: Expr, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The first of each run of equal elements, the run of each element, how long runs are."""
    x = bb.emit(op.reshape(input, [product(sizes(input))])) if dim is None else input
    axis = axis_of(dim or 0, rank(x))
    count = sizes(x)[axis]
    # the element behind the last one is none that matters
    before = bb.emit(op.strided_slice(x, [axis], [0], [count - 1]))
    behind = bb.emit(op.strided_slice(x, [axis], [1], [count]))
    others = [i for i in range(rank(x)) if i != axis]
    differs = bb.emit(op.astype(op.not_equal(before, behind), "int64"))
    differs = bb.emit(op.max(differs, others)) if others else differs
    one = op.full(ShapeExpr([1]), scalar(1, "int64"), "int64")
    starts = bb.emit(op.concat((one, differs), 0))
    (places,) = nonzero_columns(bb, starts)
    values = bb.emit(op.take(x, places, axis))
    inverse: Any = Constant(np.zeros(0, "int64"))
    counts: Any = inverse
    if return_inverse:
        run = bb.emit(op.subtract(op.cumsum(starts, 0), scalar(1, "int64")))
        inverse = op.reshape(run, sizes(input)) if dim is None else run
    if return_counts:
        runs = sizes(places)[0]
        end = bb.emit(op.reshape(tensor_of(bb, count, "int64"), [1]))
        ends = bb.emit(op.concat((places, end), 0))
        counts = op.subtract(op.strided_slice(ends, [0], [1], [runs + 1]), places)
    return values, inverse, counts
