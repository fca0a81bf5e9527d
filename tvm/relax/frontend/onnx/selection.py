"""Elements that are chosen by the data: where something holds, unique ones, boxes, sequences."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir, topi
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, TupleGetItem, Var
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import IntImm

from .attributes import dtype_name
from .moving import padded
from .node import Node
from .registry import Result, convert
from .strings import unique_text

LARGEST_CONSTANT = 2**16  # elements of a constant whose indices are kept beside it


def _sized(node: Node, value: RelaxExpr, shape: Sequence[Any], dtype: str) -> Var:
    """A result whose size only the data tells; the symbols in its shape get it as it runs."""
    return node.bb.match_cast(node.bb.emit(value), TensorStructInfo(shape, dtype))


def _how_many(name: str) -> tir.Var:
    return tir.Var(re.sub(r"\W", "_", name) + "_count", "int64")


@convert("NonZero")
def nonzero(node: Node) -> Result:
    """Indices of the elements that are not 0: (rank, how many)."""
    return _places(node, node[0])


def _places(node: Node, value: RelaxExpr) -> RelaxExpr:
    """Indices of the elements that are not 0; those of a constant are a constant."""
    if isinstance(value, Constant):
        array = value.data.numpy()
        if array.ndim and array.size <= LARGEST_CONSTANT:
            return Constant(np.stack(np.nonzero(array)).astype(np.int64))
    ndim = value.struct_info.ndim  # type: ignore[attr-defined]
    return _sized(node, op.nonzero(value), (ndim, _how_many(node.name)), "int64")


@convert("Compress")
def compress(node: Node) -> Result:
    """The elements along an axis (or of all in a row) where a condition holds."""
    value = node[0]
    if "axis" not in node.attrs:
        value = node.bb.emit(op.reshape(value, [-1]))
    axis = node.axis(0) if "axis" in node.attrs else 0
    chosen = node[1]
    given, own = node.shape(1)[0], value.struct_info.shape[axis]  # type: ignore[attr-defined]
    if isinstance(given, IntImm) and isinstance(own, IntImm) and given.value > own.value:
        chosen = node.bb.emit(op.strided_slice(chosen, [0], [0], [own.value]))  # no more elements
    return op.take(value, node.bb.emit(op.squeeze(_places(node, chosen), [0])), axis)


@convert("Unique")
def unique(node: Node) -> Result:
    """Values (sorted, or as they come first), where they are first, which each is, how many."""
    axis = node.attr("axis")
    if node.is_text(0):
        return unique_text(node)
    if not node.attr("sorted", 1):
        return _unique_in_order(node, axis)
    index, inverse, counts = (i < node.output_count for i in range(1, 4))
    found = node.bb.emit(
        op.unique(node[0], bool(node.attr("sorted", 1)), index, inverse, counts, axis)
    )
    count, shape = _how_many(node.name), list(node.shape(0))
    size = functools.reduce(lambda a, b: a * b, shape) if axis is None else shape[int(axis)]
    if axis is None:
        shape = [count]
    else:
        shape[int(axis)] = count
    if not (index or inverse or counts):
        return [_sized(node, found, shape, node.dtype(0))]
    extents = [(count, index), (size, inverse), (count, counts)]
    parts: list[RelaxExpr] = [_sized(node, found[0], shape, node.dtype(0))]
    for extent in (extent for extent, asked in extents if asked):
        parts.append(_sized(node, found[len(parts)], [extent], "int64"))
    return parts


def _unique_in_order(node: Node, axis: Any) -> list[RelaxExpr]:
    """As they come first: the sorted ones, by where each is first."""
    bb = node.bb
    found = bb.emit(op.unique(node[0], True, True, True, True, axis))
    count, shape = _how_many(node.name), list(node.shape(0))
    size = functools.reduce(lambda a, b: a * b, shape) if axis is None else shape[int(axis)]
    if axis is None:
        shape = [count]
    else:
        shape[int(axis)] = count
    values = _sized(node, found[0], shape, node.dtype(0))
    first, each, counts = (
        _sized(node, found[i], [n], "int64") for i, n in ((1, count), (2, size), (3, count))
    )
    order = bb.emit(op.argsort(first, 0, dtype="int64"))
    rank = bb.emit(op.argsort(order, 0, dtype="int64"))
    parts = [op.take(values, order, int(axis or 0)), op.take(first, order, 0),
             op.take(rank, each, 0), op.take(counts, order, 0)]  # fmt: skip
    return [bb.emit(part) for part in parts[: node.output_count]]


@convert("EyeLike")
def eye_like(node: Node) -> Result:
    dtype = dtype_name(int(node.attr("dtype", 0))) or node.dtype(0)
    return op.eye_like(node[0], int(node.attr("k", 0)), dtype)


@convert("ReverseSequence")
def reverse_sequence(node: Node) -> Result:
    """The first elements of each sequence turned round; the lengths are the second input."""
    lengths = node.bb.emit(op.astype(node[1], "int32"))
    return node.bb.emit_te(
        topi.reverse_sequence, node[0], lengths, int(node.attr("time_axis", 0)),
        int(node.attr("batch_axis", 1)),
    )  # fmt: skip


@convert("AllClassNMS")
def all_class_nms(node: Node) -> Result:
    """The best boxes of each class, in a table with room for all, and how many they are."""
    found = _best_boxes(node)
    return [TupleGetItem(found, 0), TupleGetItem(found, 1)]


@convert("NonMaxSuppression")
def non_max_suppression(node: Node) -> Result:
    """The best boxes of each class that overlap no better one: (how many, 3)."""
    found = _best_boxes(node)
    count = node.bb.emit(op.astype(found[1], "int64"))
    end = op.concat([count, Constant(np.array([3], np.int64))], 0)
    begin, strides = Constant(np.zeros(2, np.int64)), Constant(np.ones(2, np.int64))
    chosen = op.dynamic_strided_slice(found[0], begin, node.bb.emit(end), strides)
    return _sized(node, chosen, (_how_many(node.name), 3), "int64")


def _best_boxes(node: Node) -> Var:
    """A table (batch, class, box) with room for all, the best first, and how many there are."""
    boxes = node[0]
    if node.attr("center_point_box", 0):
        parts = node.bb.emit(op.split(boxes, 2, -1))
        half = op.multiply(parts[1], Constant(np.asarray(0.5, node.dtype(0))))
        corners = [op.subtract(parts[0], half), op.add(parts[0], half)]
        boxes = node.bb.emit(op.concat(corners, -1))
    most = node[2] if node.has(2) else Constant(np.array([0], np.int64))
    overlap = node[3] if node.has(3) else Constant(np.array([0], np.float32))
    if node.has(4):
        least = node[4]
    else:
        least = Constant(np.array([np.finfo(np.float32).min], np.float32))
    most, overlap, least = (_scalar(node, value) for value in (most, overlap, least))
    return node.bb.emit(
        op.vision.all_class_non_max_suppression(boxes, node[1], most, overlap, least)
    )


def _scalar(node: Node, value: RelaxExpr) -> RelaxExpr:
    if isinstance(value, Constant):
        return Constant(value.data.numpy().reshape(()))
    return node.bb.emit(op.reshape(value, ()))


@convert("TensorScatter", since=24)
def tensor_scatter(node: Node) -> Result:
    """A cache with new elements along an axis, from a place on that each batch has of its own."""
    mode, axis = str(node.attr("mode", "linear")), int(node.attr("axis", -2)) % node.rank(0)
    if mode not in ("linear", "circular") or axis == 0:
        raise node.invalid("mode, axis", (mode, axis), "linear or circular, an axis from 1 on")
    start: RelaxExpr = Constant(np.zeros(1, np.int64))
    if node.has(2):
        start = node.bb.emit(op.astype(node[2], "int64"))

    def compute(cache: te.Tensor, update: te.Tensor, start: te.Tensor) -> Any:
        def element(*at: Any) -> Any:
            # where an element of the cache lies in the update
            first = start(at[0] if node.has(2) else tir.const(0, "int64"))
            gap = at[axis].astype("int64") - first
            if mode == "circular":
                gap = tir.floormod(gap, tir.Cast("int64", cache.shape[axis]))
            new = tir.all(gap >= 0, gap < update.shape[axis])
            taken = update(*at[:axis], gap, *at[axis + 1 :])
            return tir.if_then_else(new, taken, cache(*at))

        return te.compute(cache.shape, element, name="tensor_scatter")

    return node.bb.emit_te(
        compute, node[0], node[1], start, primfunc_name_hint="tensor_scatter"
    )


@convert("CenterCropPad")
def center_crop_pad(node: Node) -> Result:
    """The middle of a tensor, or the tensor in the middle of zeros."""
    rank = node.rank(0)
    axes = [int(a) % rank for a in node.attr("axes", range(rank))]
    sizes = node.numbers(1, "shape", len(axes))
    if not all(isinstance(x, (int, IntImm)) for x in [*sizes, *node.shape(0)]):
        return _centred(node, axes, sizes)
    begin, end, width = [], [], [0] * (2 * rank)
    for axis, size in zip(axes, sizes):
        extent, size = (int(x) for x in (node.shape(0)[axis], size))  # type: ignore[arg-type]
        start = max(0, (extent - size) // 2)
        begin.append(start)
        end.append(start + min(size, extent))
        missing = max(0, size - extent)
        width[2 * axis : 2 * axis + 2] = [missing // 2, missing - missing // 2]
    cut = op.strided_slice(node[0], axes, begin, end)
    return op.nn.pad(cut, width) if any(width) else cut


def _centred(node: Node, axes: list[int], sizes: list[Any]) -> RelaxExpr:
    """The same with extents that only running tells."""
    before: list[Any] = [0] * node.rank(0)
    after: list[Any] = [0] * node.rank(0)
    for axis, size in zip(axes, sizes):
        extent = node.shape(0)[axis]
        cut = -tir.floordiv(extent - size, 2)
        before[axis] = tir.if_then_else(extent > size, cut, tir.floordiv(size - extent, 2))
        after[axis] = size - extent - before[axis]
    return padded(node.bb, node[0], before, after)


_WINDOWS: dict[str, list[float]] = {
    "HannWindow": [0.5, 0.5],
    "HammingWindow": [25 / 46, 21 / 46],
    "BlackmanWindow": [0.42, 0.5, 0.08],
}


@convert(*_WINDOWS)
def window_function(node: Node) -> Result:
    """Cosines of a window, periodic or not, of a known length."""
    size = node.numbers(0, "size", 1)[0]
    if isinstance(size, PrimExpr):
        return _open_window(node, size)
    length = size if node.attr("periodic", 1) else max(size - 1, 1)
    angles = 2 * np.pi * np.arange(size) / length
    terms: list[Any] = [
        (-1) ** i * a * np.cos(i * angles) for i, a in enumerate(_WINDOWS[node.op_type])
    ]
    dtype = dtype_name(int(node.attr("output_datatype", 1)))
    return Constant(np.sum(terms, 0).astype(dtype))


def _open_window(node: Node, size: PrimExpr) -> RelaxExpr:
    """A window of a length that only running tells."""
    dtype = dtype_name(int(node.attr("output_datatype", 1)))
    shares, periodic = _WINDOWS[node.op_type], bool(node.attr("periodic", 1))

    def compute(size: PrimExpr) -> Any:
        length = size if periodic else tir.max(size - 1, tir.const(1, "int64"))

        def element(k: Any) -> Any:
            angle = tir.const(2 * np.pi, "float64") * tir.Cast("float64", k)
            angle = angle / tir.Cast("float64", length)
            total: Any = tir.const(shares[0], "float64")
            for i, share in enumerate(shares[1:], 1):
                total = total + tir.const((-1) ** i * share, "float64") * tir.cos(angle * float(i))
            return tir.Cast(dtype, total)

        return te.compute((size,), element, name="window")

    return node.bb.emit_te(compute, size, primfunc_name_hint="window")
