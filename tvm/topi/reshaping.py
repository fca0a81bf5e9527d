"""The same elements in another arrangement: axes added, dropped, moved, joined, cut, repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.data_layout import layout, mapping_of
from tvm.tir.expr import as_expr

from . import tag
from .common import is_one, known, ravel, same_extent, stage, unravel
from .utils import is_empty_shape, normal_axes, normal_axis


@explained
def expand_dims(a: te.Tensor, axis: int, num_newaxis: int = 1) -> te.Tensor:
    """`num_newaxis` axes of extent 1 from dimension `axis` on.   (n, m) -> (n, 1, m)"""
    dim = normal_axis(axis, a.ndim + 1, "topi.expand_dims")
    count = int(num_newaxis)
    shape = [*a.shape[:dim], *[1] * count, *a.shape[dim:]]
    return stage(
        shape, lambda *i: a(*i[:dim], *i[dim + count :]), "T_expand_dims", tag.BROADCAST
    )


@explained
def expand_like(a: te.Tensor, shape_like: te.Tensor, axis: Any) -> te.Tensor:
    """`a` repeated along new axes to the shape of another tensor."""
    new = normal_axes(axis, shape_like.ndim, "topi.expand_like") if a.ndim else []
    if a.ndim and a.ndim + len(new) != shape_like.ndim:
        raise ShapeError(
            message(
                "topi.expand_like",
                found=f"{a.ndim} dimensions and {len(new)} new ones, to be {shape_like.ndim}",
                legal="one new axis for each dimension that is missing",
            )
        )
    if a.ndim == 0:
        return stage(shape_like.shape, lambda *i: a(), "T_expand_like", tag.BROADCAST)
    kept = [i for i in range(shape_like.ndim) if i not in new]
    return stage(
        shape_like.shape, lambda *i: a(*[i[k] for k in kept]), "T_expand_like", tag.BROADCAST
    )


@explained
def transpose(a: te.Tensor, axes: Sequence[int] | None = None) -> te.Tensor:
    """The axes in another order, reversed if none is given.   (n, m) -> (m, n)"""
    order = list(range(a.ndim))[::-1] if axes is None else [
        normal_axis(x, a.ndim, "topi.transpose") for x in axes
    ]  # fmt: skip
    if sorted(order) != list(range(a.ndim)):
        raise ShapeError(
            message(
                "topi.transpose",
                found=f"axes {order} of a tensor of {a.ndim} dimensions",
                legal="each axis once",
            )
        )

    def element(*i: Any) -> PrimExpr:
        source: list[Any] = [None] * a.ndim
        for dim, axis in enumerate(order):
            source[axis] = i[dim]
        return a(*source)

    return stage([a.shape[x] for x in order], element, "T_transpose", tag.INJECTIVE)


@explained
def flip(a: te.Tensor, axis: int = 0) -> te.Tensor:
    """The elements along an axis in reverse order."""
    dim = normal_axis(axis, a.ndim, "topi.flip")

    def element(*i: Any) -> PrimExpr:
        return a(*i[:dim], a.shape[dim] - 1 - i[dim], *i[dim + 1 :])

    return stage(a.shape, element, "T_reverse_sequence", tag.INJECTIVE)


@explained
def reverse_sequence(
    a: te.Tensor, seq_lengths: te.Tensor, seq_axis: int = 1, batch_axis: int = 0
) -> te.Tensor:
    """The first `seq_lengths[b]` elements of batch b in reverse order, the others as they are."""
    along = normal_axis(seq_axis, a.ndim, "topi.reverse_sequence")
    batch = normal_axis(batch_axis, a.ndim, "topi.reverse_sequence")
    if seq_lengths.ndim != 1 or not _may_equal(seq_lengths.shape[0], a.shape[batch]):
        raise ShapeError(
            message(
                "topi.reverse_sequence",
                found=f"lengths of shape {_show(seq_lengths.shape)}, data {_show(a.shape)}",
                legal="one length for each batch",
            )
        )

    def element(*i: Any) -> PrimExpr:
        length, own = seq_lengths(i[batch]), i[along]
        stays = tir.any(length <= 1, length <= own)
        last = tir.if_then_else(length > a.shape[along], a.shape[along] - 1 - own, length - 1 - own)
        return a(*i[:along], tir.if_then_else(stays, own, last), *i[along + 1 :])

    return stage(a.shape, element, "T_reverse_sequence", tag.INJECTIVE)


def _may_equal(a: Any, b: Any) -> bool:
    return same_extent(a, b) or not (known(a) and known(b))


def _show(shape: Sequence[Any]) -> str:
    return f"({', '.join(str(s) for s in shape)})"


@explained
def reshape(a: te.Tensor, newshape: Any) -> te.Tensor:
    """The elements in row-major order with other extents."""
    given = newshape if isinstance(newshape, (tuple, list)) else [newshape]
    shape = [_plain(extent) for extent in given]
    _check_size(a, shape)
    if is_empty_shape(shape) or is_empty_shape(a.shape):
        zero = tir.const(0, a.dtype)
        return stage(shape, lambda *i: zero, "T_reshape", tag.INJECTIVE)
    return stage(
        shape, lambda *i: a(*unravel(ravel(i, shape), a.shape)), "T_reshape", tag.INJECTIVE
    )


def _plain(extent: Any) -> Any:
    return int(extent) if known(extent) else extent


def _check_size(a: te.Tensor, shape: Sequence[Any]) -> None:
    if all(known(x) for x in (*shape, *a.shape)):
        old, new = (_product(s) for s in (a.shape, shape))
        if old != new:
            raise ShapeError(
                message(
                    "topi.reshape",
                    found=f"{old} elements of shape {_show(a.shape)}, {new} in {_show(shape)}",
                    legal="a shape with as many elements",
                )
            )


def _product(shape: Sequence[Any]) -> int:
    total = 1
    for extent in shape:
        total *= int(extent)
    return total


@explained
def squeeze(a: te.Tensor, axis: Any = None) -> te.Tensor:
    """Without axes of extent 1: the given ones, or all.   (n, 1, m) -> (n, m)"""
    if axis is None:
        gone = [i for i, extent in enumerate(a.shape) if is_one(extent)]
    else:
        gone = normal_axes(axis, a.ndim, "topi.squeeze")
        for i in gone:
            if known(a.shape[i]) and not is_one(a.shape[i]):
                raise ShapeError(
                    message(
                        f"topi.squeeze: axis {i}",
                        found=f"extent {a.shape[i]} in shape {_show(a.shape)}",
                        legal="axes of extent 1",
                    )
                )
    shape = [extent for i, extent in enumerate(a.shape) if i not in gone]

    def element(*i: Any) -> PrimExpr:
        rest = iter(i)
        return a(*[0 if k in gone else next(rest) for k in range(a.ndim)])

    return stage(shape, element, "T_squeeze", tag.INJECTIVE)


def _check_some(tensors: Sequence[te.Tensor], what: str) -> None:
    if not tensors:
        raise ShapeError(message(f"topi.{what}", found="no tensors", legal="at least one"))


@explained
def concatenate(a_tuple: Sequence[te.Tensor], axis: int = 0) -> te.Tensor:
    """Tensors one after the other along an axis.   (n, m), (k, m) -> (n + k, m)"""
    _check_some(a_tuple, "concatenate")
    first = a_tuple[0]
    dim = normal_axis(axis, first.ndim, "topi.concatenate")
    for other in a_tuple[1:]:
        fits = other.ndim == first.ndim and all(
            _may_equal(x, y) for i, (x, y) in enumerate(zip(first.shape, other.shape)) if i != dim
        )
        if not fits:
            raise ShapeError(
                message(
                    "topi.concatenate",
                    found=f"shapes {_show(first.shape)} and {_show(other.shape)}, axis {dim}",
                    legal="equal shapes but for the axis of joining",
                )
            )
    extents = [x.shape[dim] for x in a_tuple]
    total = extents[0]
    starts: list[Any] = [0]
    for extent in extents[1:]:
        starts.append(total)
        total = total + extent
    shape = [*first.shape[:dim], Analyzer().simplify(total), *first.shape[dim + 1 :]]

    def part(number: int, *i: Any) -> PrimExpr:
        own = i[dim] - starts[number]
        value: PrimExpr = a_tuple[number](*i[:dim], own, *i[dim + 1 :])
        return value

    def element(*i: Any) -> PrimExpr:
        if len(a_tuple) > _LONG_CHOICE:
            return _chosen(a_tuple, lambda k: i[dim] < starts[k], lambda k: part(k, *i))
        value: PrimExpr = first(*i)
        own = i[dim]
        for extent, other in zip(extents, a_tuple[1:]):
            own = own - extent
            value = tir.if_then_else(own >= 0, other(*i[:dim], own, *i[dim + 1 :]), value)
        return value

    return stage(shape, element, "T_concat", tag.INJECTIVE)


@explained
def stack(tensors: Sequence[te.Tensor], axis: int = 0) -> te.Tensor:
    """Tensors of one shape along a new axis.   (n,), (n,) -> (2, n)"""
    _check_some(tensors, "stack")
    first = tensors[0]
    dim = normal_axis(axis, first.ndim + 1, "topi.stack")
    for other in tensors[1:]:
        if other.ndim != first.ndim or not all(map(_may_equal, first.shape, other.shape)):
            raise ShapeError(
                f"topi.stack: shapes {_show(first.shape)} and {_show(other.shape)}; legal: equal"
            )
    shape = [*first.shape[:dim], len(tensors), *first.shape[dim:]]

    def element(*i: Any) -> PrimExpr:
        own = [*i[:dim], *i[dim + 1 :]]
        if len(tensors) > _LONG_CHOICE:
            return _chosen(tensors, lambda k: i[dim] < k, lambda k: tensors[k](*own))
        value: PrimExpr = first(*own)
        for number, other in enumerate(tensors[1:], 1):
            value = tir.if_then_else(i[dim].equal(number), other(*own), value)
        return value

    return stage(shape, element, "T_stack", tag.INJECTIVE)


# One choice behind the other is a nest as deep as there are tensors, and as many comparisons.
_LONG_CHOICE = 16


def _chosen(
    tensors: Sequence[te.Tensor], before: Callable[[int], PrimExpr],
    element: Callable[[int], PrimExpr],
) -> PrimExpr:  # fmt: skip
    """The element of the tensor that an index falls into, found by halves."""

    def among(low: int, high: int) -> PrimExpr:
        if high - low == 1:
            return element(low)
        middle = (low + high) // 2
        chosen: PrimExpr = tir.if_then_else(before(middle), among(low, middle), among(middle, high))
        return chosen

    return among(0, len(tensors))


@explained
def split(ary: te.Tensor, indices_or_sections: Any, axis: int = 0) -> Any:
    """Pieces along an axis: so many equal ones, or cut at the given indices."""
    dim = normal_axis(axis, ary.ndim, "topi.split")
    total = ary.shape[dim]
    if isinstance(indices_or_sections, (int, tir.IntImm)):
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ShapeError(f"topi.split: {sections} sections; legal: at least 1")
        size = tir.indexdiv(total + sections - 1, sections)
        starts: list[Any] = [0, *[size * i for i in range(1, sections)]]
        name = "T_split_sections"
    else:
        starts = [0, *[_plain(i) for i in indices_or_sections]]
        name = "T_split"
    ends = [*starts[1:], total]
    pieces = []
    for start, end in zip(starts, ends):
        extent = as_expr(end) - start
        if isinstance(extent, tir.IntImm) and extent.value < 0:
            raise ShapeError(f"topi.split: a piece from {start} to {end}; legal: ascending indices")
        shape = [*ary.shape[:dim], extent, *ary.shape[dim + 1 :]]
        pieces.append(stage(shape, _piece(ary, dim, start), name, tag.INJECTIVE))
    return pieces


def _piece(ary: te.Tensor, dim: int, start: Any) -> Any:
    return lambda *i: ary(*i[:dim], i[dim] + start, *i[dim + 1 :])


@explained
def repeat(a: te.Tensor, repeats: int, axis: int) -> te.Tensor:
    """Each element `repeats` times in a row along an axis."""
    dim = normal_axis(axis, a.ndim, "topi.repeat")
    if int(repeats) < 1:
        raise ShapeError(f"topi.repeat: {repeats} repeats; legal: at least 1")
    shape = [*a.shape[:dim], a.shape[dim] * int(repeats), *a.shape[dim + 1 :]]

    def element(*i: Any) -> PrimExpr:
        return a(*i[:dim], tir.indexdiv(i[dim], int(repeats)), *i[dim + 1 :])

    return stage(shape, element, "T_repeat", tag.BROADCAST)


@explained
def tile(a: te.Tensor, reps: Any) -> te.Tensor:
    """The whole tensor repeated `reps` times along each axis."""
    counts = list(reps) if isinstance(reps, (tuple, list)) else [reps]
    ndim = max(a.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    own = [tir.const(1, "int32")] * (ndim - a.ndim) + list(a.shape)
    shape = [Analyzer().simplify(extent * count) for extent, count in zip(own, counts)]
    if is_empty_shape(shape):
        zero = tir.const(0, a.dtype)
        return stage(shape, lambda *i: zero, "T_tile", tag.BROADCAST)

    def element(*i: Any) -> PrimExpr:
        return a(*[tir.indexmod(x, extent) for x, extent in zip(i[ndim - a.ndim :], a.shape)])

    return stage(shape, element, "T_tile", tag.BROADCAST)


@explained
def layout_transform(
    array: te.Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None"
) -> te.Tensor:
    """The same tensor in another layout; elements beyond its extents are zero."""
    source, target = layout(src_layout), layout(dst_layout)
    if source.name == target.name:
        return array
    mapping = mapping_of(source, target)
    zero = tir.const(0, array.dtype)

    def element(*i: Any) -> PrimExpr:
        coords = mapping.backward_index(i)
        inside = [p < extent for p, extent in zip(coords, array.shape)]
        return tir.if_then_else(tir.all(*inside), array(*coords), zero)

    notes = {
        "schedule_rule": schedule_rule,
        "src_layout": source.name,
        "dst_layout": target.name,
        "input_shape": array.shape,
    }
    shape = mapping.forward_shape(array.shape)
    return stage(shape, element, "T_layout_trans", tag.INJECTIVE, notes)


@explained
def sliding_window(
    data: te.Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]
) -> te.Tensor:
    """All windows over the axes from `axis` on, their extents as last dimensions."""
    dim = normal_axis(axis, data.ndim, "topi.sliding_window")
    count = data.ndim - dim
    if not count == len(window_shape) == len(strides):
        raise ShapeError(
            message(
                "topi.sliding_window",
                found=f"{len(window_shape)} extents, {len(strides)} strides for {count} axes",
                legal="one of each for every axis from `axis` on",
            )
        )
    moves = [
        tir.floordiv(extent - int(window) + int(step), int(step))
        for extent, window, step in zip(data.shape[dim:], window_shape, strides)
    ]
    shape = [*data.shape[:dim], *map(Analyzer().simplify, moves), *[int(w) for w in window_shape]]

    def element(*i: Any) -> PrimExpr:
        inner = i[dim + count :]
        own = [i[dim + k] * int(strides[k]) + inner[k] for k in range(count)]
        return data(*i[:dim], *own)

    return stage(shape, element, "T_sliding_window")
