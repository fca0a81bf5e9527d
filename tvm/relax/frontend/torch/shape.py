"""Tensors with the same elements in another shape or order."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Tuple, TupleGetItem
from tvm.relax.frontend.bits import reinterpreted
from tvm.support.dtype import DataType

from .registry import convert
from .sizes import require
from .values import (
    Expr,
    Size,
    axes_of,
    axis_of,
    cast,
    common_dtype,
    common_sizes,
    dtype_of,
    length,
    lengths,
    product,
    rank,
    read_size,
    refuse,
    same,
    sizes,
    tensor_of,
    written_axes,
    written_axis,
)


def given_sizes(given: tuple[Any, ...]) -> list[Any]:
    """`x.view(2, 3)` and `x.view((2, 3))` mean the same."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return list(given[0])
    return list(given)


@convert("reshape", "view", "_unsafe_view", "_reshape_alias", "view_copy", "_reshape_copy")
def reshape(bb: BlockBuilder, input: Expr, *shape: Any, **named: Any) -> Any:
    given = given_sizes(shape or (named.get("shape", named.get("size")),))
    if len(given) == 1 and isinstance(given[0], str):  # view(dtype)
        return _of_bits(bb, input, given[0])
    return op.reshape(input, _resolved(input, given))


def _of_bits(bb: BlockBuilder, x: Expr, dtype: str) -> Any:
    """The same bits as other numbers; more or fewer of them along the last axis."""
    before, after = (DataType(name).bits for name in (dtype_of(x), dtype))
    if "bool" in (dtype_of(x), dtype):
        raise refuse("view as another data type", f"{dtype_of(x)} as {dtype}", "whole bytes")
    shape = sizes(x)
    if after > before:
        count = after // before
        last = shape[-1] // count
        x = bb.emit(op.reshape(x, [*shape[:-1], last, count]))
        return bb.call_te(reinterpreted, x, dtype, primfunc_name_hint="bits")
    made = bb.call_te(reinterpreted, x, dtype, primfunc_name_hint="bits")
    if after == before:
        return made
    return op.reshape(bb.emit(made), [*shape[:-1], shape[-1] * (before // after)])


def _resolved(x: Expr, given: list[Any]) -> list[Any]:
    """With symbolic extents, -1 is divided out here: torch knows that it divides."""
    if -1 not in [g for g in given if isinstance(g, int)]:
        return given
    extents = sizes(x)
    if not any(isinstance(s, PrimExpr) for s in [*extents, *given]):
        return given
    place = next(i for i, g in enumerate(given) if isinstance(g, int) and g == -1)
    analyzer = Analyzer()
    rest = [g for i, g in enumerate(given) if i != place]
    left = list(extents)
    for g in list(rest):  # extents that stay leave both sides
        for i, extent in enumerate(left):
            if _equal(analyzer, g, extent):
                del left[i]
                rest.remove(g)
                break
    above, below = product(left), product(rest)
    if isinstance(above, PrimExpr) or isinstance(below, PrimExpr):
        given[place] = analyzer.simplify(tir.floordiv(above, below))
    else:
        given[place] = above // below
    return given


def _equal(analyzer: Analyzer, a: Size, b: Size) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return bool(analyzer.can_prove_equal(a, b))


@convert("view_as", "reshape_as")
def reshape_as(bb: BlockBuilder, input: Expr, other: Expr) -> Expr:
    return op.reshape(input, sizes(other))


@convert("flatten")
def flatten(bb: BlockBuilder, input: Expr, start_dim: int = 0, end_dim: int = -1) -> Expr:
    extents = sizes(input)
    if not extents:
        return op.reshape(input, [1])
    start, end = axis_of(start_dim, len(extents)), axis_of(end_dim, len(extents))
    joined = product(extents[start : end + 1])
    return op.reshape(input, [*extents[:start], joined, *extents[end + 1 :]])


@convert("ravel")
def ravel(bb: BlockBuilder, input: Expr) -> Any:
    return flatten(bb, input)


@convert("unflatten")
def unflatten(bb: BlockBuilder, input: Expr, dim: int, sizes: Any = None, **named: Any) -> Expr:
    from .values import sizes as sizes_of

    extents = sizes_of(input)
    axis = axis_of(dim, len(extents))
    parts = list(sizes or named["unflattened_size"])
    if -1 in [p for p in parts if isinstance(p, int)]:
        known = product([p for p in parts if not (isinstance(p, int) and p == -1)])
        whole = extents[axis]
        symbolic = isinstance(whole, PrimExpr) or isinstance(known, PrimExpr)
        rest = tir.floordiv(whole, known) if symbolic else whole // known
        parts = [rest if isinstance(p, int) and p == -1 else p for p in parts]
    return op.reshape(input, [*extents[:axis], *parts, *extents[axis + 1 :]])


@convert("permute", "permute_copy")
def permute(bb: BlockBuilder, input: Expr, *dims: Any, **named: Any) -> Expr:
    axes = given_sizes(dims or (named["dims"],))
    return op.permute_dims(input, [written_axis(a, rank(input)) for a in axes])


@convert("transpose", "swapaxes", "swapdims", "transpose_copy")
def transpose(bb: BlockBuilder, input: Expr, dim0: int, dim1: int) -> Expr:
    axes = list(range(rank(input)))
    if not axes:
        return input
    a, b = axis_of(dim0, len(axes)), axis_of(dim1, len(axes))
    axes[a], axes[b] = axes[b], axes[a]
    return op.permute_dims(input, axes)


@convert("t", "t_copy", "numpy_T")
def t(bb: BlockBuilder, input: Expr) -> Expr:
    return input if rank(input) < 2 else transposed(bb, input)


@convert("adjoint", "matrix_H", "mH", "mT")
def adjoint(bb: BlockBuilder, input: Expr) -> Expr:
    return transposed(bb, input, True)


def transposed(bb: BlockBuilder, x: Expr, last_two: bool = False) -> Expr:
    axes = list(range(rank(x)))
    return op.permute_dims(x, [*axes[:-2], axes[-1], axes[-2]] if last_two else axes[::-1])


@convert("movedim", "moveaxis")
def movedim(bb: BlockBuilder, input: Expr, source: Any, destination: Any) -> Expr:
    ndim = rank(input)
    start, end = axes_of(source, ndim) or [], axes_of(destination, ndim) or []
    axes: list[Any] = [None] * ndim
    for a, b in zip(start, end):
        axes[b] = a
    rest = iter(a for a in range(ndim) if a not in start)
    return op.permute_dims(input, [next(rest) if a is None else a for a in axes])


@convert("squeeze", "squeeze_copy")
def squeeze(bb: BlockBuilder, input: Expr, dim: Any = None) -> Expr:
    """Axes of extent 1 are dropped; others that are named stay.

    What follows was traced for open extents other than 1, which is checked as the program runs.
    """
    extents = sizes(input)
    axes = range(len(extents)) if dim is None else (written_axes(dim, len(extents)) or [])
    if not extents:  # a scalar takes 0 and -1 as axes
        axes = []
    for axis in axes:
        if isinstance(extents[axis], PrimExpr):
            require(bb, tir.NE(extents[axis], tir.const(1, "int64")))
    dropped = [a for a in axes if same(extents[a], 1)]
    if dim is None and all(isinstance(extent, int) for extent in extents):
        return op.squeeze(input)
    return op.squeeze(input, dropped) if dropped else input


@convert("unsqueeze", "unsqueeze_copy")
def unsqueeze(bb: BlockBuilder, input: Expr, dim: int) -> Expr:
    return op.expand_dims(input, dim)


@convert("expand", "broadcast_to", "expand_copy")
def expand(bb: BlockBuilder, input: Expr, *shape: Any, **named: Any) -> Expr:
    """-1 keeps an extent."""
    given = given_sizes(shape or (named.get("size"),))
    extents = sizes(input)
    before = len(given) - len(extents)
    wanted = [
        extents[i - before] if isinstance(size, int) and size == -1 else size
        for i, size in enumerate(given)
    ]
    return op.broadcast_to(input, wanted)


@convert("expand_as")
def expand_as(bb: BlockBuilder, input: Expr, other: Expr) -> Expr:
    return op.broadcast_to(input, sizes(other))


@convert("broadcast_tensors")
def broadcast_tensors(bb: BlockBuilder, *tensors: Any) -> Any:
    given = given_sizes(tensors)
    shape = common_sizes(given)
    return tuple(op.broadcast_to(x, shape) for x in given)


@convert("repeat")
def repeat(bb: BlockBuilder, input: Expr, *repeats: Any, **named: Any) -> Expr:
    return _tiled(bb, input, given_sizes(repeats or (named["repeats"],)))


@convert("tile")
def tile(bb: BlockBuilder, input: Expr, *dims: Any, **named: Any) -> Expr:
    return _tiled(bb, input, given_sizes(dims or (named["dims"],)))


def _tiled(bb: BlockBuilder, x: Expr, counts: Sequence[Any]) -> Expr:
    """So many times along each axis; symbolic counts by broadcasting: (n, d) -> (c, n, e, d)."""
    if not any(isinstance(count, PrimExpr) for count in counts):
        return op.tile(x, counts)
    shape = [*[1] * (len(counts) - rank(x)), *sizes(x)]
    times = [*[1] * (len(shape) - len(counts)), *counts]
    apart = bb.emit(op.reshape(x, [size for extent in shape for size in (1, extent)]))
    pairs = list(zip(times, shape))
    spread = bb.emit(op.broadcast_to(apart, [size for pair in pairs for size in pair]))
    return op.reshape(spread, [count * extent for count, extent in pairs])


@convert("repeat_interleave")
def repeat_interleave(
    bb: BlockBuilder, input: Expr, repeats: Any = None, dim: int | None = None, **options: Any
) -> Expr:
    if repeats is None:
        x = bb.emit(op.arange(0, sizes(input)[0], 1, "int64"))
        return _repeated_by(bb, x, input, 0, options.get("output_size"))
    if isinstance(repeats, RelaxExpr):
        axis = 0 if dim is None else axis_of(dim, rank(input))
        flat = input if dim is not None else bb.emit(op.reshape(input, [product(sizes(input))]))
        return _repeated_by(bb, flat, repeats, axis, options.get("output_size"))
    if dim is None:
        return op.repeat(op.reshape(input, [-1]), repeats, 0)
    return op.repeat(input, repeats, written_axis(dim, rank(input)))


def _repeated_by(bb: BlockBuilder, x: Expr, counts: Expr, axis: int, total: Any) -> Expr:
    """Each element as often as its count says; `total` is the sum of the counts, if known."""
    wide = op.broadcast_to(cast(bb, counts, "int64"), [sizes(x)[axis]])
    ends = bb.emit(op.cumsum(wide, 0))
    if total is None:
        total = read_size(bb, bb.emit(op.max(ends)))
    places = op.bucketize(op.arange(0, total, 1, "int64"), ends, False, True)
    return op.take(x, bb.emit(places), axis)


@convert("cat", "concat", "concatenate")
def cat(bb: BlockBuilder, tensors: Any, dim: int = 0, **named: Any) -> Expr:
    """Empty one-dimensional tensors among others of more axes are left out, as torch does."""
    dtype = common_dtype(*tensors)
    ndim = max(rank(x) for x in tensors)
    held = [x for x in tensors if rank(x) == ndim or not same(sizes(x)[0], 0)]
    parts = [cast(bb, x, dtype) for x in held]
    return op.concat(tuple(parts), named.get("axis", dim))


@convert("stack")
def stack(bb: BlockBuilder, tensors: Any, dim: int = 0) -> Expr:
    dtype = common_dtype(*tensors)
    return op.stack(tuple(cast(bb, x, dtype) for x in tensors), dim)


def _of_each(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A converter that also takes several tensors, in a list or one by one."""

    @functools.wraps(rule)
    def apply(bb: BlockBuilder, *given: Any, **named: Any) -> Any:
        given = (*given, *named.values())
        if len(given) == 1 and not isinstance(given[0], (list, tuple)):
            return rule(bb, given[0])
        several = given[0] if isinstance(given[0], (list, tuple)) else given
        return tuple(bb.emit(rule(bb, x)) for x in several)

    return apply


@convert("atleast_1d")
@_of_each
def atleast_1d(bb: BlockBuilder, input: Expr) -> Expr:
    return input if rank(input) >= 1 else op.reshape(input, [1])


@convert("atleast_2d")
@_of_each
def atleast_2d(bb: BlockBuilder, input: Expr) -> Expr:
    missing = 2 - rank(input)
    return op.reshape(input, [*[1] * missing, *sizes(input)]) if missing > 0 else input


@convert("atleast_3d")
@_of_each
def atleast_3d(bb: BlockBuilder, input: Expr) -> Expr:
    """A row becomes the middle axis of three, a matrix the first two."""
    shape = sizes(input)
    wide = {0: [1, 1, 1], 1: [1, *shape, 1], 2: [*shape, 1]}
    return op.reshape(input, wide[len(shape)]) if len(shape) in wide else input


@convert("hstack")
def hstack(bb: BlockBuilder, tensors: Any) -> Any:
    parts = [bb.normalize_argument(atleast_1d(bb, x)) for x in tensors]
    return cat(bb, parts, 0 if rank(parts[0]) == 1 else 1)


@convert("vstack", "row_stack")
def vstack(bb: BlockBuilder, tensors: Any) -> Any:
    return cat(bb, [bb.normalize_argument(atleast_2d(bb, x)) for x in tensors], 0)


@convert("dstack")
def dstack(bb: BlockBuilder, tensors: Any) -> Any:
    parts = []
    for x in tensors:
        flat = bb.normalize_argument(atleast_2d(bb, x))
        parts.append(flat if rank(flat) > 2 else bb.emit(op.expand_dims(flat, 2)))
    return cat(bb, parts, 2)


@convert("column_stack")
def column_stack(bb: BlockBuilder, tensors: Any) -> Any:
    parts = [x if rank(x) > 1 else bb.emit(op.reshape(x, [-1, 1])) for x in tensors]
    return cat(bb, parts, 1)


# --- in pieces ---


def _pieces(bb: BlockBuilder, x: Expr, cuts: list[int] | int, axis: int) -> Any:
    """Relax cuts a tensor into a tuple; one piece is the tensor itself, and no tuple there."""
    return (x,) if cuts in (1, []) else bb.emit(op.split(x, cuts, axis))


@convert("split", "split_copy", "unsafe_split")
def split(
    bb: BlockBuilder, tensor: Expr, split_size: Any, dim: int = 0, pieces: int | None = None
) -> Any:
    """Pieces of a size, the last one smaller; or of the sizes given. `pieces`: torch's count."""
    axis = written_axis(dim, rank(tensor))
    if not isinstance(split_size, (int, PrimExpr)):
        return split_with_sizes(bb, tensor, split_size, axis)
    extent = sizes(tensor)[axis]
    if isinstance(extent, PrimExpr) or isinstance(split_size, PrimExpr):
        if pieces is None:
            raise refuse("split", f"the symbolic extent {extent}", "an extent that is a number")
        return _open_pieces(bb, tensor, extent, split_size, axis, pieces)
    count = max(-(-extent // split_size), 1)
    if -(-extent // count) == split_size:
        return _pieces(bb, tensor, count, axis)
    return _pieces(bb, tensor, list(range(split_size, extent, split_size)), axis)


def _open_pieces(
    bb: BlockBuilder, x: Expr, extent: Size, size: Size, axis: int, count: int
) -> tuple[Expr, ...]:
    """As many as torch has fixed; an extent that gives another count is refused as it runs."""
    begins: list[Any] = [tir.const(0, "int64"), *(size * i for i in range(1, count))]
    require(bb, extent >= begins[-1] + 1)
    require(bb, extent <= begins[-1] + size)
    ends = [*begins[1:], extent]
    return tuple(op.strided_slice(x, [axis], [a], [b]) for a, b in zip(begins, ends))


@convert("split_with_sizes", "unsafe_split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(bb: BlockBuilder, input: Expr, split_sizes: Any, dim: int = 0) -> Any:
    axis = written_axis(dim, rank(input))
    cuts: list[Any] = []
    for size in split_sizes[:-1]:
        cuts.append(size if not cuts else cuts[-1] + size)
    if all(isinstance(cut, int) for cut in cuts):
        return _pieces(bb, input, cuts, axis)
    ends = [*cuts, sizes(input)[axis]]
    return tuple(op.strided_slice(input, [axis], [a], [b]) for a, b in zip([0, *cuts], ends))


@convert("chunk", "unsafe_chunk")
def chunk(bb: BlockBuilder, input: Expr, chunks: int, dim: int = 0) -> Any:
    """At most `chunks` pieces, all but the last of one size."""
    axis = written_axis(dim, rank(input))
    extent = sizes(input)[axis]
    if isinstance(extent, int) and extent % chunks:
        return split(bb, input, -(-extent // chunks), axis)
    return _pieces(bb, input, chunks, axis)


@convert("tensor_split")
def tensor_split(bb: BlockBuilder, input: Expr, indices_or_sections: Any, dim: int = 0) -> Any:
    """So many pieces, the first ones larger by one; or cuts at the places given."""
    axis = written_axis(dim, rank(input))
    cuts = indices_or_sections
    if isinstance(cuts, int):
        extent = sizes(input)[axis]
        if isinstance(extent, PrimExpr):
            small, over = tir.floordiv(extent, cuts), tir.floormod(extent, cuts)
            cuts = [small * i + tir.min(tir.const(i, "int64"), over) for i in range(1, cuts)]
            return _cut_at(bb, input, cuts, axis)
        least, more = divmod(extent, cuts)
        cuts = [i * least + min(i, more) for i in range(1, cuts)]
    elif isinstance(cuts, RelaxExpr):
        if rank(cuts) == 0:
            raise refuse("tensor_split", "a number of pieces in a tensor", "a number, or places")
        places = range(lengths(cuts, "tensor_split")[0])
        cuts = [
            read_size(bb, bb.emit(op.strided_slice(cuts, [0], [i], [i + 1]))) for i in places
        ]
        return _cut_at(bb, input, cuts, axis)
    elif any(isinstance(n, PrimExpr) for n in [sizes(input)[axis], *cuts]):
        return _cut_at(bb, input, list(cuts), axis)
    return _pieces(bb, input, list(cuts), axis)


def _cut_at(bb: BlockBuilder, x: Expr, cuts: Sequence[Any], axis: int) -> tuple[Expr, ...]:
    """Pieces between places that only running tells."""
    bounds = [0, *cuts, sizes(x)[axis]]
    return tuple(
        bb.emit(op.strided_slice(x, [axis], [start], [end]))
        for start, end in itertools.pairwise(bounds)
    )


for _name, _axis in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)):

    def _split_at(bb: BlockBuilder, input: Expr, cuts: Any, axis: int = _axis) -> Any:
        return tensor_split(bb, input, cuts, 0 if rank(input) == 1 else axis)

    convert(_name)(_split_at)


@convert("unbind", "unbind_copy")
def unbind(bb: BlockBuilder, input: Expr, dim: int = 0) -> Expr:
    axis = written_axis(dim, rank(input))
    count = length(input, axis, "unbind")
    if count == 1:
        return bb.emit(Tuple([bb.emit(op.squeeze(input, [axis]))]))
    pieces = _pieces(bb, input, count, axis)
    parts = [
        bb.emit(op.squeeze(bb.emit(TupleGetItem(pieces, i)), [axis])) for i in range(count)
    ]
    return bb.emit(Tuple(parts))


# --- reversed and turned ---


@convert("flip", "reverse")
def flip(bb: BlockBuilder, input: Expr, *dims: Any, **named: Any) -> Expr:
    given = given_sizes(dims or (named["dims"],))
    x = input
    for axis in given:
        x = bb.emit(op.flip(x, written_axis(axis, rank(x))))
    return x


@convert("fliplr")
def fliplr(bb: BlockBuilder, input: Expr) -> Expr:
    return op.flip(input, 1)


@convert("flipud")
def flipud(bb: BlockBuilder, input: Expr) -> Any:
    return op.flip(input, 0)


@convert("rot90")
def rot90(bb: BlockBuilder, input: Expr, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turns by a right angle, from the first axis towards the second."""
    a, b = axes_of(dims, rank(input)) or [0, 1]
    turns = k % 4
    if turns == 2:
        return op.flip(op.flip(input, a), b)
    if turns == 0:
        return input
    if turns == 1:
        return transpose(bb, bb.emit(op.flip(input, b)), a, b)
    return transpose(bb, bb.emit(op.flip(input, a)), a, b)


@convert("roll")
def roll(bb: BlockBuilder, input: Expr, shifts: Any, dims: Any = None) -> Expr:
    """What leaves at one end comes in at the other; without axes, in the flat tensor."""
    by = [shifts] if isinstance(shifts, (int, PrimExpr)) else list(shifts)
    axes = axes_of(dims, rank(input))
    if axes is None:
        flat = bb.emit(op.reshape(input, [product(sizes(input))]))
        return op.reshape(roll(bb, flat, by, [0]), sizes(input))
    x = input
    for shift, axis in zip(by, axes):
        x = _rolled(bb, x, shift, axis)
    return x


def _rolled(bb: BlockBuilder, x: Expr, shift: Any, axis: int) -> Expr:
    extent = sizes(x)[axis]
    if isinstance(extent, int) and isinstance(shift, int):
        shift %= max(extent, 1)
    elif isinstance(shift, int) and shift < 0:
        shift = extent + shift
    if isinstance(shift, int) and shift == 0:
        return x
    at = extent - shift
    stays = bb.emit(op.strided_slice(x, [axis], [0], [at], [1]))
    leaves = bb.emit(op.strided_slice(x, [axis], [at], [extent], [1]))
    return bb.emit(op.concat((leaves, stays), axis))


@convert("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(bb: BlockBuilder, input: Expr, groups: int) -> Expr:
    """Channels of the groups, in turn."""
    batch, channels, *rest = sizes(input)
    apart = op.reshape(input, [batch, groups, channels // groups, *rest])
    axes = [0, 2, 1, *range(3, 3 + len(rest))]
    return op.reshape(op.permute_dims(apart, axes), [batch, channels, *rest])


@convert("pixel_shuffle")
def pixel_shuffle(bb: BlockBuilder, input: Expr, upscale_factor: int) -> Expr:
    return op.nn.pixel_shuffle(input, upscale_factor)


@convert("pixel_unshuffle")
def pixel_unshuffle(bb: BlockBuilder, input: Expr, downscale_factor: int) -> Expr:
    """(..., c, h r, w r) to (..., c r r, h, w)"""
    r = downscale_factor
    *lead, c, h, w = sizes(input)
    n = len(lead)
    apart = op.reshape(input, [*lead, c, h // r, r, w // r, r])
    axes = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return op.reshape(op.permute_dims(apart, axes), [*lead, c * r * r, h // r, w // r])


@convert("meshgrid")
def meshgrid(bb: BlockBuilder, *tensors: Any, indexing: str = "ij") -> Expr:
    given = given_sizes(tensors)
    if given and isinstance(given[-1], str):
        indexing = given.pop()
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = list(given[0])
    rows = [op.reshape(x, [1]) if rank(x) == 0 else x for x in given]
    return op.meshgrid(tuple(rows), indexing)


@convert("cartesian_prod")
def cartesian_prod(bb: BlockBuilder, *tensors: Any) -> Expr:
    given = given_sizes(tensors)
    if len(given) == 1:
        return given[0]  # type: ignore[no-any-return]
    grids = bb.emit(op.meshgrid(tuple(given), "ij"))
    parts = [op.reshape(TupleGetItem(grids, i), [-1]) for i in range(len(given))]
    return op.stack(tuple(bb.emit(p) for p in parts), 1)


@convert("block_diag")
def block_diag(bb: BlockBuilder, *tensors: Any) -> Any:
    """Matrices along a diagonal, zeros elsewhere; rows and numbers are matrices of one row."""
    given = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    dtype = common_dtype(*given)
    blocks = [cast(bb, bb.normalize_argument(atleast_2d(bb, x)), dtype) for x in given]
    widths = [sizes(x)[1] for x in blocks]
    before = list(itertools.accumulate(widths, initial=0))
    rows = [
        _beside(bb, x, before[i], sum(widths[i + 1 :])) for i, x in enumerate(blocks)
    ]
    return op.concat(tuple(rows), 0)


def _beside(bb: BlockBuilder, x: Expr, before: Size, after: Size) -> Any:
    """Zeros on both sides of a matrix; how many may be symbols."""
    rows, dtype = sizes(x)[0], dtype_of(x)
    left, right = (
        [] if same(width, 0) else [bb.emit(op.zeros((rows, width), dtype))]
        for width in (before, after)
    )
    return bb.emit(op.concat((*left, x, *right), 1)) if left or right else x


@convert("sum_to_size")
def sum_to_size(bb: BlockBuilder, input: Expr, *size: Any) -> Any:
    """Sums over the axes that broadcasting to the shape of `input` would repeat."""
    wanted = given_sizes(size)
    extra = rank(input) - len(wanted)
    axes = [i + extra for i, n in enumerate(wanted)
            if same(n, 1) and not same(sizes(input)[i + extra], 1)]  # fmt: skip
    kept = bb.emit(op.sum(input, axes, True)) if axes else input
    return op.sum(kept, list(range(extra)), False) if extra else kept


@convert("unravel_index")
def unravel_index(bb: BlockBuilder, indices: Expr, shape: Any) -> Any:
    """One tensor of places an axis, of places in the flat tensor."""
    extents = [shape] if isinstance(shape, int) else list(shape)
    dtype, found, rest = dtype_of(indices), [], indices
    for extent in extents[::-1]:
        size = tensor_of(bb, extent, dtype)
        found.append(bb.emit(op.floor_mod(rest, size)))
        rest = bb.emit(op.floor_divide(rest, size))
    return tuple(found[::-1])
