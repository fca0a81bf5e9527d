"""Parts of tensors by indices that tensors hold: gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, const

from .dtypes import is_float
from .registry import convert
from .values import (
    Expr,
    along_an_axis,
    axis_of,
    cast,
    common_dtype,
    common_shape,
    dtype_of,
    length,
    product,
    rank,
    refuse,
    same,
    scalar,
    sizes,
    tensor_of,
    together,
    written_axis,
)


def counted_from_front(bb: BlockBuilder, index: Expr, extent: Any) -> Expr:
    """Indices below zero count from the end."""
    dtype = dtype_of(index)
    if dtype.startswith("u"):
        return index
    if isinstance(index, Constant) and isinstance(extent, int):
        values = index.data.numpy()
        return const(np.where(values < 0, values + extent, values), dtype)
    size = tensor_of(bb, extent, dtype)
    return bb.emit(op.where(op.less(index, scalar(0, dtype)), op.add(index, size), index))


@convert("index_select")
@along_an_axis
def index_select(bb: BlockBuilder, input: Expr, dim: int, index: Expr) -> Expr:
    return op.take(input, index, written_axis(dim, rank(input)))


@convert("take")
def take(bb: BlockBuilder, input: Expr, index: Expr) -> Expr:
    """Of the flat tensor."""
    count = product(sizes(input))
    flat = bb.emit(op.reshape(input, [count]))
    return op.take(flat, counted_from_front(bb, index, count), 0)


@convert("gather")
def gather(
    bb: BlockBuilder, input: Expr, dim: int, index: Expr, sparse_grad: bool = False
) -> Expr:
    if rank(input) == 0:  # whatever the places are, they are 0
        return op.broadcast_to(input, sizes(index)) if rank(index) else input
    return op.gather_elements(input, index, written_axis(dim, rank(input)))


@convert("take_along_dim")
def take_along_dim(bb: BlockBuilder, input: Expr, indices: Expr, dim: int | None = None) -> Expr:
    if dim is None:
        flat = bb.emit(op.reshape(input, [product(sizes(input))]))
        return op.take(flat, op.reshape(indices, [product(sizes(indices))]), 0)
    axis = axis_of(dim, rank(input))
    outer = common_shape([[1 if i == axis else size for i, size in enumerate(sizes(x))]
                          for x in (input, indices)])  # fmt: skip
    x, places = (
        op.broadcast_to(x, [own if i == axis else size
                            for i, (own, size) in enumerate(zip(sizes(x), outer))])
        for x in (input, indices)
    )  # fmt: skip
    return op.gather_elements(x, places, axis)


@convert("embedding")
def embedding(bb: BlockBuilder, weight: Expr, indices: Expr, *rest: Any, **options: Any) -> Expr:
    """Rows of the weights; `padding_idx` and the like matter to training alone."""
    x = bb.emit(op.astype(indices, "int32"))
    if rank(x) == 1:
        return op.take(weight, x, 0)
    shape = sizes(x)
    rows = bb.emit(op.take(weight, bb.emit(op.reshape(x, [product(shape)])), 0))
    return op.reshape(rows, [*shape, sizes(weight)[-1]])


@convert("embedding.functional")
def functional_embedding(
    bb: BlockBuilder, input: Expr, weight: Expr, padding_idx: Any = None, max_norm: Any = None,
    *rest: Any, **options: Any,
) -> Any:  # fmt: skip
    """`torch.nn.functional.embedding` has the places first."""
    check_max_norm(max_norm)
    return embedding(bb, weight, input)


def check_max_norm(max_norm: Any) -> None:
    """Shorter rows are written back to the weights, which programs do not change."""
    if max_norm is not None:
        raise refuse("embedding: max_norm", str(max_norm), "None")


@convert("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    bb: BlockBuilder,
    weight: Expr,
    indices: Expr,
    offsets: Expr | None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Expr | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Sums (0) or means (1) of the rows of each bag; bags start at the offsets.

    A matrix says which index is in which bag: the bag of an index is the number of offsets that
    are not behind it, less one. Rows of `padding_idx` are in no bag.
    """
    if mode not in (0, 1) or offsets is None:
        raise refuse("embedding_bag", f"mode={mode}", "mode 'sum' or 'mean', offsets")
    dtype = dtype_of(weight)
    rows = bb.emit(op.take(weight, indices, 0))
    if per_sample_weights is not None:
        rows = bb.emit(op.multiply(rows, op.expand_dims(per_sample_weights, 1)))
    starts = op.expand_dims(offsets, 0)
    indexers = op.expand_dims(op.arange(0, sizes(indices)[0], 1, dtype_of(offsets)), 1)
    begun = op.astype(op.greater_equal(indexers, starts), "int64")
    bag = bb.emit(op.subtract(op.sum(begun, 1), scalar(1, "int64")))
    count = sizes(offsets)[0] - int(include_last_offset)
    numbers = op.expand_dims(op.arange(0, count, 1, "int64"), 1)
    member = bb.emit(op.astype(op.equal(numbers, op.expand_dims(bag, 0)), dtype))
    if padding_idx not in (-1, None):
        counts = op.not_equal(indices, scalar(padding_idx, dtype_of(indices)))
        member = bb.emit(op.multiply(member, op.expand_dims(op.astype(counts, dtype), 0)))
    total = bb.emit(op.matmul(member, rows))
    held = bb.emit(op.sum(member, 1, True))
    if mode == 1:
        total = bb.emit(op.divide(total, op.maximum(held, scalar(1.0, dtype))))
    lengths: Expr = bb.emit(op.astype(op.squeeze(held, [1]), "int64"))
    if include_last_offset:  # the extents that torch traces for what only gradients read
        lengths = op.concat([lengths, op.zeros([1], "int64")])
        offsets = op.strided_slice(offsets, [0], [0], [count])
    return total, bag, lengths, offsets


@convert("embedding_bag.padding_idx")
def padded_embedding_bag(
    bb: BlockBuilder, weight: Expr, indices: Expr, offsets: Expr, scale_grad_by_freq: bool,
    mode: int, sparse: bool, per_sample_weights: Expr | None, include_last_offset: bool,
    padding_idx: int | None,
) -> Any:  # fmt: skip
    """Here a padding_idx below zero counts from the end; in the others -1 stands for none."""
    if padding_idx is not None and padding_idx < 0:
        padding_idx += length(weight, 0, "embedding_bag: weight")
    return embedding_bag(
        bb, weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
        include_last_offset, -1 if padding_idx is None else padding_idx,
    )  # fmt: skip


@convert("embedding_bag.functional")
def functional_embedding_bag(
    bb: BlockBuilder, input: Expr, weight: Expr, offsets: Any = None, *, mode: str = "mean",
    max_norm: Any = None, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Without offsets every row of the indices is a bag."""
    check_max_norm(max_norm)
    number = {"sum": 0, "mean": 1}.get(mode, 2)
    if offsets is None:
        rows, width = sizes(input)
        offsets = bb.emit(op.arange(0, rows * width, width, "int64"))
        input = bb.emit(op.reshape(input, [rows * width]))
    return padded_embedding_bag(
        bb, weight, input, offsets, False, number, False, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip


# --- x[indices] ---


@convert("index", "_unsafe_index")
def index(bb: BlockBuilder, input: Expr, indices: Sequence[Any]) -> Expr:
    """`x[i, :, j]`: tensors index axes, None keeps one; truth values stand for their places.

    The axes of the result that the tensors make stand where the first indexed axis was if they
    are next to each other, else at the front.
    """
    x, indexers = _indexers(bb, input, list(indices))
    given = [i for i, indexer in enumerate(indexers) if indexer is not None]
    if len(given) == 1:
        axis = given[0]
        if axis == 0 and len(indexers) == 1:
            return op.index_tensor(x, (indexers[0],))
        return op.take(x, counted_from_front(bb, indexers[axis], sizes(x)[axis]), axis)
    if given == list(range(len(given))):
        return op.index_tensor(x, tuple(indexers[i] for i in given))
    rest = [i for i in range(rank(x)) if i not in given]
    front = bb.emit(op.permute_dims(x, [*given, *rest]))
    made = bb.emit(op.index_tensor(front, tuple(indexers[i] for i in given)))
    if given != list(range(given[0], given[-1] + 1)):
        return made
    return _moved_behind(made, given[0], rank(made) - len(rest))


def _moved_behind(made: Expr, lead: int, count: int) -> Expr:
    """The first `count` axes go behind the next `lead` ones."""
    axes = [*range(count, count + lead), *range(count), *range(count + lead, rank(made))]
    return op.permute_dims(made, axes)


def _indexers(bb: BlockBuilder, x: Expr, indices: list[Any]) -> tuple[Expr, list[Any]]:
    """The tensor, and one tensor of integers or None for each of its first axes."""
    from .sorting import nonzero_columns

    indexers: list[Any] = []
    for given in indices:
        if given is None:
            indexers.append(None)
        elif dtype_of(given) in ("bool", "uint8"):
            indexers += nonzero_columns(bb, given)
        else:
            indexers.append(given)
    while indexers and indexers[-1] is None:
        indexers.pop()
    return x, indexers


@convert("masked_select")
def masked_select(bb: BlockBuilder, input: Expr, mask: Expr) -> Any:
    if rank(input) == 0 and rank(mask) == 0:
        input = bb.emit(op.reshape(input, (1,)))
    x, held = together(bb, input, mask)
    return index(bb, x, [held])


@convert("index_put", "_unsafe_index_put", "index_put_impl")
def index_put(
    bb: BlockBuilder, input: Expr, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> Expr:
    """`x[indices] = values`, or `+=`; None keeps an axis."""
    value = tensor_of(bb, values, dtype_of(input))
    given = list(indices)
    by_mask = len(given) == 1 and given[0] is not None and dtype_of(given[0]) == "bool"
    if by_mask and rank(value) == 0 and not accumulate:
        extra = rank(input) - rank(given[0])
        mask = given[0] if not extra else op.reshape(given[0], [*sizes(given[0]), *[1] * extra])
        return op.where(mask, value, input)
    x, indexers = _indexers(bb, input, given)
    if any(indexer is None for indexer in indexers):
        return _put_around(bb, x, indexers, value, accumulate)
    return op.index_put(x, tuple(indexers), _filled(bb, x, indexers, value), accumulate)


def _filled(bb: BlockBuilder, x: Expr, indexers: list[Any], value: Expr) -> Expr:
    """Values, one for each element that is written."""
    lead: list[Any] = []
    for indexer in indexers:
        shape = sizes(indexer)
        lead = [1] * (len(shape) - len(lead)) + lead
        for i, size in enumerate(reversed(shape), start=1):
            lead[-i] = size if isinstance(lead[-i], int) and lead[-i] == 1 else lead[-i]
    wanted = [*lead, *sizes(x)[len(indexers) :]]
    found = sizes(value)
    fits = len(wanted) == len(found) and all(same(a, b) for a, b in zip(wanted, found))
    return value if fits else bb.emit(op.broadcast_to(value, wanted))


def _put_around(
    bb: BlockBuilder, x: Expr, indexers: list[Any], value: Expr, accumulate: bool
) -> Expr:
    """Kept axes go to the back for the write, and return."""
    given = [i for i, indexer in enumerate(indexers) if indexer is not None]
    rest = [i for i in range(rank(x)) if i not in given]
    order = [*given, *rest]
    front = bb.emit(op.permute_dims(x, order))
    tensors = [indexers[i] for i in given]
    width = max(rank(t) for t in tensors)
    together = given == list(range(given[0], given[-1] + 1))
    lead = given[0] if together else 0
    # the value has its axes as x[...] would give them: `lead` kept ones, then the places
    missing = len(rest) + width - rank(value)
    if missing > 0:
        value = bb.emit(op.reshape(value, [*[1] * missing, *sizes(value)]))
    if lead:
        axes = [*range(lead, lead + width), *range(lead), *range(lead + width, rank(value))]
        value = bb.emit(op.permute_dims(value, axes))
    made = op.index_put(front, tuple(tensors), _filled(bb, front, tensors, value), accumulate)
    back = [order.index(i) for i in range(rank(x))]
    return op.permute_dims(bb.emit(made), back)


# --- scatters ---

_REDUCTIONS = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min",
    "mean": "mean",
}  # fmt: skip


@convert("scatter")
@along_an_axis
def scatter(
    bb: BlockBuilder, input: Expr, dim: int, index: Expr, src: Any = None, *rest: Any,
    reduce: str | None = None, value: Any = None,
) -> Expr:  # fmt: skip
    how = "update" if reduce is None else _reduction(reduce)
    updates = value if src is None else src
    if not isinstance(updates, RelaxExpr):
        updates = bb.emit(op.broadcast_to(scalar(updates, dtype_of(input)), sizes(index)))
    return op.scatter_elements(
        input, index, _cut_to(bb, updates, index), written_axis(dim, rank(input)), how
    )


def _reduction(name: str) -> str:
    if name not in _REDUCTIONS:
        raise refuse("scatter: reduce", repr(name), ", ".join(_REDUCTIONS))
    return _REDUCTIONS[name]


def _cut_to(bb: BlockBuilder, src: Expr, index: Expr) -> Expr:
    """Torch reads as much of `src` as there are places."""
    wanted, found = sizes(index), sizes(src)
    larger = [i for i, (a, b) in enumerate(zip(wanted, found)) if isinstance(a, int) and a != b]
    if not larger:
        return src
    ends = [wanted[i] for i in larger]
    return bb.emit(op.strided_slice(src, larger, [0] * len(larger), ends))


@convert("scatter_add")
@along_an_axis
def scatter_add(bb: BlockBuilder, input: Expr, dim: int, index: Expr, src: Expr) -> Any:
    return scatter(bb, input, dim, index, src, reduce="add")


@convert("scatter_reduce")
@along_an_axis
def scatter_reduce(
    bb: BlockBuilder, input: Expr, dim: int, index: Expr, src: Expr, reduce: str,
    include_self: bool = True,
) -> Expr:  # fmt: skip
    how, axis, dtype = _reduction(reduce), written_axis(dim, rank(input)), dtype_of(input)
    part = _cut_to(bb, src, index)
    x = input
    if not include_self:
        if is_float(dtype):
            least, largest = -float("inf"), float("inf")
        else:
            least, largest = np.iinfo(dtype).min, np.iinfo(dtype).max
        start = {"add": 0, "mean": 0, "mul": 1, "max": least, "min": largest}
        fresh = bb.emit(op.broadcast_to(scalar(start[how], dtype), sizes(index)))
        x = bb.emit(op.scatter_elements(x, index, fresh, axis, "update"))
    if how != "mean":
        return op.scatter_elements(x, index, part, axis, how)
    ones = bb.emit(op.broadcast_to(scalar(1, dtype), sizes(index)))
    base = op.ones_like(input) if include_self else op.zeros_like(input)
    counts = bb.emit(op.scatter_elements(base, index, ones, axis, "add"))
    total = op.scatter_elements(x, index, part, axis, "add")
    divide = op.divide if is_float(dtype) else op.floor_divide
    return divide(total, op.maximum(counts, scalar(1, dtype)))


def _spread_index(bb: BlockBuilder, index: Expr, like: Expr, axis: int) -> Expr:
    """Indices along one axis, for every element of `like`."""
    shape = [-1 if i == axis else 1 for i in range(rank(like))]
    wide = op.reshape(cast(bb, index, "int64"), shape)
    return bb.emit(op.broadcast_to(wide, sizes(like)))


@convert("index_add")
@along_an_axis
def index_add(
    bb: BlockBuilder, input: Expr, dim: int, index: Expr, source: Expr, alpha: Any = 1
) -> Expr:
    axis = axis_of(dim, rank(input))
    part = source
    if alpha != 1:
        part = bb.emit(op.multiply(source, scalar(alpha, dtype_of(source))))
    return op.scatter_elements(input, _spread_index(bb, index, part, axis), part, axis, "add")


@convert("index_reduce")
@along_an_axis
def index_reduce(
    bb: BlockBuilder, input: Expr, dim: int, index: Expr, source: Expr, reduce: str,
    include_self: bool = True,
) -> Any:  # fmt: skip
    places = _spread_index(bb, index, source, axis_of(dim, rank(input)))
    return scatter_reduce(bb, input, dim, places, source, reduce, include_self)


@convert("index_copy")
@along_an_axis
def index_copy(bb: BlockBuilder, input: Expr, dim: int, index: Expr, source: Expr) -> Expr:
    axis = axis_of(dim, rank(input))
    return op.scatter_elements(input, _spread_index(bb, index, source, axis), source, axis)


@convert("index_fill")
@along_an_axis
def index_fill(bb: BlockBuilder, input: Expr, dim: int, index: Expr, value: Any) -> Expr:
    axis = axis_of(dim, rank(input))
    shape = sizes(input)
    shape[axis] = sizes(index)[0]
    filled = bb.emit(op.broadcast_to(tensor_of(bb, value, dtype_of(input)), shape))
    return op.scatter_elements(input, _spread_index(bb, index, filled, axis), filled, axis)


@convert("masked_scatter")
def masked_scatter(bb: BlockBuilder, input: Expr, mask: Expr, source: Expr) -> Expr:
    """Where the mask holds, the next element of `source`: its number counts the mask so far."""
    input, held = together(bb, input, mask)
    shape = sizes(input)
    flat, values = held, source
    if len(shape) != 1:
        flat = bb.emit(op.reshape(held, [product(shape)]))
    number = bb.emit(op.subtract(op.cumsum(flat, 0, "int32"), scalar(1, "int32")))
    if len(shape) != 1 or rank(source) != 1:
        values = bb.emit(op.reshape(source, [product(sizes(source))]))
    # Before the first element that the mask holds the number is -1. `where` does not ask for it,
    # unless a reshape of open extents stands between the two: then `take` is a kernel of its own.
    if len(shape) != 1 and not all(isinstance(extent, int) for extent in shape):
        number = bb.emit(op.maximum(number, scalar(0, "int32")))
    values = bb.emit(op.take(values, number, 0))
    return op.where(held, values if len(shape) == 1 else op.reshape(values, shape), input)


@convert("put")
def put(
    bb: BlockBuilder, input: Expr, index: Expr, source: Expr, accumulate: bool = False
) -> Expr:
    """Of the flat tensor."""
    shape = sizes(input)
    flat = bb.emit(op.reshape(input, [product(shape)]))
    at, values = (bb.emit(op.reshape(v, [product(sizes(v))])) for v in (index, source))
    return op.reshape(op.index_put(flat, (at,), values, accumulate), shape)


@convert("isin")
def isin(
    bb: BlockBuilder, elements: Any, test_elements: Any, assume_unique: bool = False,
    invert: bool = False,
) -> Expr:  # fmt: skip
    """Each element against each of the test's."""
    dtype = common_dtype(elements, test_elements)
    x, wanted = (tensor_of(bb, v, dtype) for v in (elements, test_elements))
    row = op.reshape(wanted, [product(sizes(wanted))])
    equal = op.equal(op.expand_dims(x, -1), row)
    found = bb.emit(op.max(op.astype(equal, "int8"), -1))
    return op.equal(found, scalar(0, "int8")) if invert else op.astype(found, "bool")
