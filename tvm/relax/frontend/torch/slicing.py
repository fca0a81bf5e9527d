"""Parts of tensors by known indices: slices, diagonals, windows; and writing to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, TupleGetItem, const
from tvm.relax.struct_info import ShapeStructInfo, TupleStructInfo

from .registry import convert
from .sizes import SIZE_OPS
from .values import (
    Expr,
    axis_of,
    cast,
    dtype_of,
    lengths,
    product,
    rank,
    refuse,
    sizes,
    spread,
    tensor_of,
    written_axis,
)


@convert("slice", "slice_copy")
def slice_(
    bb: BlockBuilder, input: Expr, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Expr:
    first = 0 if start is None else start
    last = sys.maxsize if end is None else end
    return op.strided_slice(input, [written_axis(dim, rank(input))], [first], [last], [step])


def _is_everything(first: Any, last: Any, step: Any, extent: Any) -> bool:
    """Whether a slice leaves nothing out of an axis."""
    if not isinstance(first, int) or first != 0 or not isinstance(step, int) or step != 1:
        return False
    if isinstance(last, int):
        return last >= (extent if isinstance(extent, int) else sys.maxsize)
    return not isinstance(last, RelaxExpr) and bool(Analyzer().can_prove_equal(last, extent))


@convert("narrow", "narrow_copy")
def narrow(bb: BlockBuilder, input: Expr, dim: int, start: Any, length: Any) -> Expr:
    axis = written_axis(dim, rank(input))
    if isinstance(start, RelaxExpr):
        places = op.add(op.arange(0, length, 1, "int64"), cast(bb, start, "int64"))
        return op.take(input, bb.emit(places), axis)
    if isinstance(start, int) and start < 0:
        start = sizes(input)[axis] + start
    return op.strided_slice(input, [axis], [start], [start + length])


@convert("select", "select_copy")
def select(bb: BlockBuilder, input: Expr, dim: int, index: Any) -> Expr:
    axis = written_axis(dim, rank(input))
    extent = sizes(input)[axis]
    if isinstance(index, int) and index < 0:
        index = extent + index
    if isinstance(index, int):
        return op.take(input, const(index, "int64"), axis)
    return op.take(input, tensor_of(bb, index), axis)


@convert("getitem")
def getitem(bb: BlockBuilder, input: Any, index: Any) -> Any:
    """An element of a tuple, of a shape, or `x[...]` of a tensor."""
    if isinstance(input, (tuple, list)):
        return input[index]
    info = input.struct_info
    if isinstance(info, TupleStructInfo):
        return TupleGetItem(input, index + len(info.fields) if index < 0 else index)
    if isinstance(info, ShapeStructInfo):
        assert info.values is not None, "the sizes of a shape are known"
        return info.values[index]
    keys = list(index) if isinstance(index, tuple) else [index]
    return _indexed(bb, input, keys)


def _spelled_out(x: Expr, keys: list[Any]) -> list[Any]:
    """Without `...`, and with `:` for the axes at the end."""
    used = sum(_axes_taken(key) for key in keys)
    rest = [slice(None)] * (rank(x) - used)
    for i, key in enumerate(keys):
        if key is Ellipsis:
            return [*keys[:i], *rest, *keys[i + 1 :]]
    return [*keys, *rest]


def _axes_taken(key: Any) -> int:
    if key is None or key is Ellipsis:
        return 0
    if isinstance(key, RelaxExpr) and dtype_of(key) == "bool":
        return rank(key)
    return 1


def _indexed(bb: BlockBuilder, x: Expr, keys: list[Any]) -> Expr:
    """One row of places first; then slices, in one go; then axes that go and come; then tensors."""
    keys = _spelled_out(x, keys)
    x, taken = _taken(bb, x, keys)
    axes: list[int] = []
    bounds: list[tuple[Any, Any, Any]] = []
    shape_keys: list[Any] = []
    extents = sizes(x)
    axis = 0
    for i, key in enumerate(keys):
        if key is None:
            shape_keys.append(None)
            continue
        for _ in range(_axes_taken(key)):
            extent = extents[axis]
            if i == taken:
                shape_keys.append(slice(None))
            elif isinstance(key, slice):
                bounds.append(_bounds(key, extent))
                shape_keys.append(slice(None))
            elif isinstance(key, (int, PrimExpr)) and not isinstance(key, bool):
                at = extent + key if isinstance(key, int) and key < 0 else key
                bounds.append((at, at + 1, 1))
                shape_keys.append(0)
            else:
                bounds.append((0, extent, 1))
            if i != taken:
                axes.append(axis)
            axis += 1
        if isinstance(key, (RelaxExpr, list)) and i != taken:
            shape_keys.append(key)
    if axes:
        begin, end, strides = (list(part) for part in zip(*bounds))
        x = bb.emit(op.strided_slice(x, axes, begin, end, strides))
    return _gathered(bb, *_reshaped(bb, x, shape_keys))


def _taken(bb: BlockBuilder, x: Expr, keys: list[Any]) -> tuple[Expr, int | None]:
    """The tensor at the places that the only tensor among the keys lists, and which key it is."""
    from .indexing import index

    tensors = [i for i, key in enumerate(keys) if isinstance(key, (RelaxExpr, list))]
    if len(tensors) != 1 or len(keys) == 1:
        return x, None
    (at,) = tensors
    key = keys[at]
    if isinstance(key, RelaxExpr) and (dtype_of(key) == "bool" or rank(key) != 1):
        return x, None
    places = Constant(np.asarray(key, "int64")) if isinstance(key, list) else key
    if rank(places) != 1:
        return x, None
    before = [None] * sum(_axes_taken(key) for key in keys[:at])
    rest = [None] * (rank(x) - len(before) - 1)
    return bb.emit(index(bb, x, [*before, places, *rest])), at


def _bounds(key: slice, extent: Any) -> tuple[Any, Any, Any]:
    """Where a slice starts and ends, as written where the extent is a number."""
    step = 1 if key.step is None else key.step
    first = 0 if key.start is None else key.start
    last = extent if key.stop is None else key.stop
    if isinstance(extent, int):
        return first, last, step
    if isinstance(first, int) and first < 0:
        first = extent + first
    if isinstance(last, int) and last < 0:
        last = extent + last
    return first, last, step


def _reshaped(bb: BlockBuilder, cut: Expr, keys: list[Any]) -> tuple[Expr, list[Any]]:
    """Axes of plain indices are dropped and new ones made; and the tensors, one an axis."""
    extents = iter(sizes(cut))
    shape: list[Any] = []
    tensor_keys: list[Any] = []
    for key in keys:
        if key is None:
            shape.append(1)
            tensor_keys.append(None)
        elif isinstance(key, int):
            next(extents)
        elif isinstance(key, slice):
            shape.append(next(extents))
            tensor_keys.append(None)
        else:
            shape += [next(extents) for _ in range(_axes_taken(key))]
            tensor_keys.append(key)
    return bb.emit(op.reshape(cut, shape)), tensor_keys


def _gathered(bb: BlockBuilder, x: Expr, tensor_keys: list[Any]) -> Expr:
    if all(tensor_key is None for tensor_key in tensor_keys):
        return x
    from .indexing import index

    tensors = [
        Constant(np.asarray(tensor_key, "int64")) if isinstance(tensor_key, list) else tensor_key
        for tensor_key in tensor_keys
    ]
    return bb.emit(index(bb, x, tensors))


# --- index tables: which elements of the flat tensor ---


def table(x: Expr, asked: str) -> np.ndarray[Any, Any]:
    """The index of each element in the flat tensor, in the tensor's shape."""
    extents = lengths(x, asked)
    return np.arange(int(np.prod(extents)), dtype="int64").reshape(extents)


def _by_table(bb: BlockBuilder, x: Expr, flat_indices: np.ndarray[Any, Any]) -> Expr:
    flat = bb.emit(op.reshape(x, [product(sizes(x))]))
    return op.take(flat, Constant(np.ascontiguousarray(flat_indices)), 0)


def _written(bb: BlockBuilder, x: Expr, src: Expr, flat_indices: np.ndarray[Any, Any]) -> Expr:
    """`x` with `src` at the flat indices."""
    extents = lengths(x, "a write to a part of a tensor")
    flat = bb.emit(op.reshape(x, [int(np.prod(extents))]))
    values = cast(bb, src, dtype_of(x))
    values = bb.emit(op.broadcast_to(values, list(flat_indices.shape)))
    values = bb.emit(op.reshape(values, [flat_indices.size]))
    where = Constant(np.ascontiguousarray(flat_indices.reshape(-1)))
    return op.reshape(op.scatter_elements(flat, where, values, 0), extents)


@convert("setitem")
def setitem(bb: BlockBuilder, input: Expr, index: Any, value: Any) -> Any:
    """The tensor after `x[index] = value`."""
    from .indexing import index_put

    keys = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(key, RelaxExpr) for key in keys):
        if len(keys) == 1 and dtype_of(keys[0]) == "bool" and rank(keys[0]) == rank(input):
            return op.where(keys[0], tensor_of(bb, value, dtype_of(input)), input)
        if not all(isinstance(key, RelaxExpr) for key in keys):
            raise refuse("x[...] = value", "tensors and slices", "tensors alone, or slices alone")
        return index_put(bb, input, keys, tensor_of(bb, value, dtype_of(input)))
    flat_indices = table(input, "x[...] = value")[tuple(keys)]
    return _written(bb, input, tensor_of(bb, value, dtype_of(input)), flat_indices)


@convert("as_strided", "as_strided_copy")
def as_strided(
    bb: BlockBuilder, input: Expr, size: Any, stride: Any, storage_offset: int | None = None
) -> Expr:
    """Elements by their offset in memory, where tensors lie densely."""
    shape, steps = tuple(size), tuple(stride)
    if any(isinstance(n, PrimExpr) for n in (*shape, *steps, *sizes(input))):
        return _by_steps(bb, input, shape, steps, storage_offset or 0)
    flat_indices = np.full(shape, storage_offset or 0, "int64")
    for axis, (extent, step) in enumerate(zip(shape, steps)):
        along = [1] * len(shape)
        along[axis] = extent
        flat_indices = flat_indices + (np.arange(extent, dtype="int64") * step).reshape(along)
    return _by_table(bb, input, flat_indices)


@convert("diagonal", "diagonal_copy", "linalg_diagonal")
def diagonal(
    bb: BlockBuilder, input: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1, **named: int
) -> Expr:
    extents = sizes(input)
    if any(isinstance(extent, PrimExpr) for extent in extents):
        return _symbolic_diagonal(bb, input, offset, axis_of(dim1, len(extents)),
                                  axis_of(dim2, len(extents)))  # fmt: skip
    flat_indices = np.diagonal(table(input, "diagonal"), offset, dim1, dim2)
    return _by_table(bb, input, flat_indices)


diagonal_of = diagonal  # for functions that have a number of this name


def _symbolic_diagonal(
    bb: BlockBuilder, x: Expr, offset: int, first: int, second: int
) -> Expr:
    """Steps through memory by a row and a column at once."""
    extents = sizes(x)
    strides = [product(extents[i + 1 :]) for i in range(len(extents))]
    rest = [i for i in range(len(extents)) if i not in (first, second)]
    rows, columns = extents[first] - max(-offset, 0), extents[second] - max(offset, 0)
    start = max(-offset, 0) * strides[first] + max(offset, 0) * strides[second]
    shape = [*(extents[i] for i in rest), SIZE_OPS["minimum"](rows, columns)]
    steps = [*(strides[i] for i in rest), strides[first] + strides[second]]
    return _by_steps(bb, x, shape, steps, start)


def _by_steps(bb: BlockBuilder, x: Expr, shape: Sequence[Any], steps: Any, start: Any) -> Expr:
    """Elements of the flat tensor, by their steps through it along each axis of the result."""
    flat_indices = tensor_of(bb, start, "int64")
    for axis, (extent, step) in enumerate(zip(shape, steps)):
        along = [1] * len(shape)
        along[axis] = extent
        flat_indices = bb.emit(op.add(flat_indices, op.reshape(_counted(bb, extent, step), along)))
    flat = bb.emit(op.reshape(x, [product(sizes(x))]))
    return op.take(flat, flat_indices, 0)


def _counted(bb: BlockBuilder, count: Any, step: Any) -> Expr:
    """0, step, 2 * step, ..."""
    numbers = bb.emit(op.arange(0, count, 1, "int64"))
    one = isinstance(step, int) and step == 1
    return numbers if one else bb.emit(op.multiply(numbers, tensor_of(bb, step, "int64")))


def _windows_along(bb: BlockBuilder, extent: Any, size: int, step: int, dilation: int = 1) -> Expr:
    """The indices of windows along an axis: (windows, size)."""
    if isinstance(extent, int):
        first = np.arange(0, extent - dilation * (size - 1), step, dtype="int64")
        return Constant(first[:, None] + np.arange(size, dtype="int64") * dilation)
    count = tir.floordiv(extent - dilation * (size - 1) - 1, step) + 1
    starts = bb.emit(op.reshape(_counted(bb, count, step), [count, 1]))
    within = Constant(np.arange(size, dtype="int64") * dilation)
    return bb.emit(op.add(starts, within))


@convert("diag_embed")
def diag_embed(
    bb: BlockBuilder, input: Expr, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> Expr:
    """The last axis as diagonals of matrices, zeros elsewhere."""
    *lead, n = sizes(input)
    side, ndim = n + abs(offset), len(lead) + 2
    axes = axis_of(dim1, ndim), axis_of(dim2, ndim)
    if any(isinstance(extent, PrimExpr) for extent in (*lead, n)):
        return _symbolic_diagonals(bb, None, input, offset, axes)
    shape = list(lead)
    for axis in sorted(axes):
        shape.insert(axis, side)
    zeros = bb.emit(op.zeros(shape, dtype_of(input)))
    flat_indices = np.diagonal(table(zeros, "diag_embed"), offset, *axes)
    return _written(bb, zeros, input, flat_indices)


def _symbolic_diagonals(
    bb: BlockBuilder, x: Expr | None, src: Expr, offset: int, axes: tuple[int, int]
) -> Expr:
    """`x`, or zeros, with the last axis of `src` as the diagonals along two axes."""
    first, second = axes
    below, right = max(-offset, 0), max(offset, 0)

    def compute(*given: te.Tensor) -> te.Tensor:
        source, around = given[0], given[1:]
        if around:
            shape = list(around[0].shape)
        else:
            shape, side = list(source.shape[:-1]), source.shape[-1] + abs(offset)
            for axis in sorted(axes):
                shape.insert(axis, side)

        def element(*at: Any) -> Any:
            lead = [i for axis, i in enumerate(at) if axis not in axes]
            i, j = at[first] - below, at[second] - right
            on = tir.all(i.equal(j), i >= 0)
            other = around[0](*at) if around else tir.const(0, source.dtype)
            return tir.if_then_else(on, source(*lead, i), other)

        made: te.Tensor = te.compute(shape, element, name="diagonals")
        return made

    given = [src] if x is None else [src, x]
    return bb.emit_te(compute, *given, primfunc_name_hint="diagonals")


@convert("diag")
def diag(bb: BlockBuilder, input: Expr, diagonal: int = 0) -> Any:
    """A matrix of a vector, or the vector in a matrix."""
    if rank(input) == 1:
        return diag_embed(bb, input, diagonal)
    return diagonal_of(bb, input, diagonal)


@convert("diagonal_scatter")
def diagonal_scatter(
    bb: BlockBuilder, input: Expr, src: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Expr:
    if any(isinstance(extent, PrimExpr) for extent in sizes(input)):
        axes = axis_of(dim1, rank(input)), axis_of(dim2, rank(input))
        return _symbolic_diagonals(bb, input, cast(bb, src, dtype_of(input)), offset, axes)
    flat_indices = np.diagonal(table(input, "diagonal_scatter"), offset, dim1, dim2)
    return _written(bb, input, src, flat_indices)


@convert("as_strided_scatter")
def as_strided_scatter(
    bb: BlockBuilder, input: Expr, src: Expr, size: Any, stride: Any, storage_offset: Any = None
) -> Expr:
    dense = table(input, "as_strided_scatter").reshape(-1)
    steps = [s * dense.itemsize for s in stride]
    start = dense[storage_offset or 0 :]
    flat_indices = np.lib.stride_tricks.as_strided(start, tuple(size), steps)
    return _written(bb, input, src, flat_indices)


@convert("unfold")
def unfold(bb: BlockBuilder, input: Expr, dimension: int, size: int, step: int) -> Expr:
    """Windows along an axis, as a new last axis."""
    if rank(input) == 0:  # its only window, or an empty one
        return op.strided_slice(op.reshape(input, [1]), [0], [0], [size])
    axis = axis_of(dimension, rank(input))
    flat_indices = _windows_along(bb, sizes(input)[axis], size, step)
    ndim = rank(input)
    windows = bb.emit(op.take(input, flat_indices, axis))
    axes = [*range(axis + 1), *range(axis + 2, ndim + 1), axis + 1]
    return op.permute_dims(windows, axes)


def _patches(
    extents: list[int], kernel: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    """Places of a padded picture: (kernel places, blocks)."""
    h, w = (extents[i] + 2 * padding[i] for i in (0, 1))
    flat_indices = np.arange(h * w, dtype="int64").reshape(h, w)
    reach = [dilation[i] * (kernel[i] - 1) + 1 for i in (0, 1)]
    windows = np.lib.stride_tricks.sliding_window_view(flat_indices, reach)
    windows = windows[:: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    return windows.reshape(-1, kernel[0] * kernel[1]).T


def _window_options(*options: Any) -> list[list[int]]:
    return [spread(option, 2) for option in options]


@convert("im2col", "unfold.functional")
def im2col(
    bb: BlockBuilder, input: Expr, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Expr:  # fmt: skip
    """(n, c, h, w) to (n, c * kernel elements, blocks)"""
    batched = rank(input) == 4
    x = input if batched else bb.emit(op.expand_dims(input, 0))
    kernel, dilated, padded, strides = _window_options(kernel_size, dilation, padding, stride)
    if any(padded):
        width = [0, 0, 0, 0, padded[0], padded[0], padded[1], padded[1]]
        x = bb.emit(op.nn.pad(x, width))
    if any(isinstance(extent, PrimExpr) for extent in sizes(x)):
        made = _symbolic_im2col(bb, x, kernel, dilated, strides)
        return made if batched else op.squeeze(made, [0])
    n, c, h, w = lengths(x, "unfold")
    h, w = h - 2 * padded[0], w - 2 * padded[1]
    flat_indices = _patches([h, w], kernel, dilated, padded, strides)
    flat = op.reshape(x, [n, c, -1])
    taken = bb.emit(op.take(flat, Constant(np.ascontiguousarray(flat_indices)), 2))
    made = bb.emit(op.reshape(taken, [n, c * flat_indices.shape[0], flat_indices.shape[1]]))
    return made if batched else op.squeeze(made, [0])


def _symbolic_im2col(
    bb: BlockBuilder, x: Expr, kernel: list[int], dilation: list[int], stride: list[int]
) -> Expr:
    """Windows along the rows, then along the columns."""
    n, c, h, w = sizes(x)
    rows = _windows_along(bb, h, kernel[0], stride[0], dilation[0])
    columns = _windows_along(bb, w, kernel[1], stride[1], dilation[1])
    taken = bb.emit(op.take(bb.emit(op.take(x, rows, 2)), columns, 4))
    down, across = sizes(rows)[0], sizes(columns)[0]
    turned = bb.emit(op.permute_dims(taken, [0, 1, 3, 5, 2, 4]))
    return bb.emit(op.reshape(turned, [n, c * kernel[0] * kernel[1], down * across]))


@convert("col2im", "fold")
def col2im(
    bb: BlockBuilder, input: Expr, output_size: Any, kernel_size: Any, dilation: Any = 1,
    padding: Any = 0, stride: Any = 1,
) -> Expr:  # fmt: skip
    """(n, c * kernel elements, blocks) to (n, c, h, w): what overlaps is added."""
    batched = rank(input) == 3
    x = input if batched else bb.emit(op.expand_dims(input, 0))
    out, kernel, dilated, padded, strides = _window_options(
        output_size, kernel_size, dilation, padding, stride
    )
    n, columns, _ = sizes(x)
    c = columns // (kernel[0] * kernel[1])
    if any(isinstance(size, PrimExpr) for size in out):
        whole = bb.emit_te(
            _symbolic_col2im, x, out, kernel, dilated, padded, strides, primfunc_name_hint="col2im"
        )
        return whole if batched else op.squeeze(whole, [0])
    h, w = (out[i] + 2 * padded[i] for i in (0, 1))
    flat_indices = _patches(out, kernel, dilated, padded, strides).reshape(1, -1)
    rows = bb.emit(op.reshape(x, [n * c, flat_indices.size]))
    zeros = bb.emit(op.zeros([n * c, h * w], dtype_of(x)))
    where: Expr = Constant(np.ascontiguousarray(flat_indices))
    where = bb.emit(op.broadcast_to(where, [n * c, flat_indices.size]))
    summed = op.scatter_elements(zeros, where, rows, 1, "add")
    picture = bb.emit(op.reshape(summed, [n, c, h, w]))
    if any(padded):
        begin = [padded[0], padded[1]]
        end = [padded[0] + out[0], padded[1] + out[1]]
        picture = bb.emit(op.strided_slice(picture, [2, 3], begin, end))
    return picture if batched else op.squeeze(picture, [0])


def _symbolic_col2im(
    x: te.Tensor, out: Any, kernel: Any, dilated: Any, padded: Any, strides: Any
) -> te.Tensor:
    """Each element of the picture is the sum of its places in the blocks over it."""
    n, columns, _ = x.shape
    down, across = (
        (out[i] + 2 * padded[i] - dilated[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i in (0, 1)
    )
    taps = [te.reduce_axis((0, kernel[i]), "k") for i in (0, 1)]

    def element(b: PrimExpr, c: PrimExpr, *position: PrimExpr) -> PrimExpr:
        starts = [position[i] + padded[i] - taps[i] * dilated[i] for i in (0, 1)]
        blocks = [tir.floordiv(starts[i], strides[i]) for i in (0, 1)]
        inside = [
            tir.all(starts[i] >= 0, tir.floormod(starts[i], strides[i]).equal(0), block < count)
            for i, (block, count) in enumerate(zip(blocks, (down, across)))
        ]
        column = (c * kernel[0] + taps[0]) * kernel[1] + taps[1]
        value = x(b, column, blocks[0] * across + blocks[1])
        found: PrimExpr = te.sum(
            tir.if_then_else(tir.all(*inside), value, tir.const(0, x.dtype)), axis=taps
        )
        return found

    shape = (n, tir.floordiv(columns, kernel[0] * kernel[1]), *out)
    made: te.Tensor = te.compute(shape, element, "col2im")
    return made


@convert("slice_scatter")
def slice_scatter(
    bb: BlockBuilder, input: Expr, src: Expr, dim: int = 0, start: Any = None, end: Any = None,
    step: Any = 1,
) -> Expr:  # fmt: skip
    axis = axis_of(dim, rank(input))
    extent = sizes(input)[axis]
    if isinstance(extent, int):
        first, last, _ = _bounds(slice(start, end, None), extent)
    else:
        first = 0 if start is None else start
        last = extent if end is None or (isinstance(end, int) and end >= 2**62) else end
    if _is_everything(first, last, step, extent):
        return cast(bb, src, dtype_of(input))
    return op.slice_scatter(input, cast(bb, src, dtype_of(input)), first, last, step, dim)


@convert("select_scatter")
def select_scatter(bb: BlockBuilder, input: Expr, src: Expr, dim: int, index: Any) -> Expr:
    axis = axis_of(dim, rank(input))
    at = sizes(input)[axis] + index if isinstance(index, int) and index < 0 else index
    part = bb.emit(op.expand_dims(cast(bb, src, dtype_of(input)), axis))
    return op.slice_scatter(input, part, at, at + 1, 1, axis)


@convert("tril")
def tril(bb: BlockBuilder, input: Expr, diagonal: int = 0) -> Any:
    return op.tril(input, diagonal)


@convert("triu")
def triu(bb: BlockBuilder, input: Expr, diagonal: int = 0) -> Any:
    return op.triu(input, diagonal)


@convert("item", "_local_scalar_dense")
def item(bb: BlockBuilder, input: Expr) -> Expr:
    """The only element, as a tensor without axes."""
    if rank(input) == 0:
        return input
    if rank(input) == 1:
        return op.take(input, const(0, "int64"), 0)
    return op.reshape(input, [])
