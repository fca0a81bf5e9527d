"""Regions of pictures: what their bins are the mean or the largest of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.tir import ir_builder

# the boxes, which one, where its side starts, how many bins -> start, size of a bin, places
Side: TypeAlias = "Callable[[Any, Any, int, int], tuple[PrimExpr, PrimExpr, PrimExpr]]"
# the boxes, which one, the axis (0: rows), which bin -> its first element, and the one after it
Bounds: TypeAlias = "Callable[[Any, Any, int, Any], tuple[PrimExpr, PrimExpr]]"
_MOST_PLACES = 2**12  # of a region along one axis of a bin


def sides(kind: Any, scale: float, ratio: int, *, moved: bool) -> Side:
    """How regions lie in a picture of another scale; `ratio` places a bin, 0: by its size.

    With `moved` the corners are centres of elements, and a region may be smaller than an element.
    """
    half = tir.const(0.5 if moved else 0.0, kind)

    def side(rois: Any, r: Any, start: int, bins: int) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        low = rois(r, start) * tir.const(scale, kind) - half
        high = rois(r, start + 2) * tir.const(scale, kind) - half
        size = high - low
        if not moved:
            size = tir.max(size, tir.const(1.0, kind))
        size = size / tir.const(bins, kind)
        return low, size, tir.const(ratio, kind) if ratio else tir.ceil(size)

    return side


def mean_places(
    x: te.Tensor, rois: te.Tensor, which: te.Tensor, side: Side, bins: Sequence[int],
    *, apart: bool = False,
) -> te.Tensor:
    """The mean of the places of each bin: (b, c, h, w), (r, 4), (r,) -> (r, c, *bins).

    What is to be read, and how much it counts, is the same for all channels. With `apart` each
    bin reads channels of its own, of c * bins.
    """
    kind, dtype, extents = rois.dtype, x.dtype, x.shape[2:]
    channels, channel = _channels(x, bins, apart)

    def body(ins: Any, outs: Any) -> Any:
        ib = ir_builder.create()
        data, boxes, images = map(ib.buffer_ptr, ins)
        out = ib.buffer_ptr(outs[0])

        def own(r: Any, axis: int) -> tuple[Any, Any, Any, Any]:
            low, size, count = side(lambda at, k: boxes[at, k], r, 1 - axis, bins[axis])
            number = tir.min(tir.max(count.astype("int64"), 0), _MOST_PLACES)
            return low, size, number, count

        def place(bounds: tuple[Any, Any, Any, Any], o: Any, t: Any) -> Any:
            low, size, number, _ = bounds
            return low + o.astype(kind) * size + (t.astype(kind) + 0.5) * size / number.astype(kind)

        def around(at: Any, extent: Any) -> tuple[Any, Any, Any]:
            within = tir.min(tir.max(at, tir.const(0, kind)), (extent - 1).astype(kind))
            first = tir.floor(within)
            before = first.astype("int64")
            return before, tir.min(before + 1, extent.astype("int64") - 1), within - first

        def near(at: Any, extent: Any) -> Any:
            return tir.all(at >= tir.const(-1, kind), at <= extent.astype(kind), extent > 0)

        def add(r: Any, oh: Any, ow: Any, vertical: Any, across: Any, total: Any) -> None:
            (y0, y1, fy), (x0, x1, fx) = vertical, across
            shares = ib.allocate(dtype, (4,), name="shares", scope="local")
            ends = ib.allocate("int64", (4,), name="ends", scope="local")
            for k, end in enumerate((y0, y1, x0, x1)):
                ends[k] = end
                share = (fy if k > 1 else 1 - fy) * (fx if k % 2 else 1 - fx)
                shares[k] = (share / total.astype(kind)).astype(dtype)
            with ib.for_range(0, channels, "c") as c:
                parts = [
                    shares[k] * data[images[r], channel(c, oh, ow), ends[k // 2], ends[2 + k % 2]]
                    for k in range(4)
                ]
                out[r, c, oh, ow] = out[r, c, oh, ow] + (parts[0] + parts[1] + parts[2] + parts[3])

        with ib.for_range(0, rois.shape[0], "r", kind="parallel") as r:
            vertical, across = own(r, 0), own(r, 1)
            nothing = tir.const(0, dtype)
            if apart:  # as torchvision divides by how many there are
                none = tir.any(vertical[3].equal(0), across[3].equal(0))
                nothing = tir.if_then_else(none, tir.const(math.nan, dtype), nothing)
            with ib.for_range(0, bins[0], "oh") as oh, ib.for_range(0, bins[1], "ow") as ow:
                with ib.for_range(0, channels, "c") as c:
                    out[r, c, oh, ow] = nothing
                with (
                    ib.for_range(0, vertical[2], "t") as t,
                    ib.for_range(0, across[2], "u") as u,
                ):
                    row, column = place(vertical, oh, t), place(across, ow, u)
                    with ib.if_scope(tir.all(near(row, extents[0]), near(column, extents[1]))):
                        total = vertical[2] * across[2]
                        add(r, oh, ow, around(row, extents[0]), around(column, extents[1]), total)
        return ib.get()

    shape = (rois.shape[0], channels, *bins)
    made: te.Tensor = te.extern([shape], [x, rois, which], body, dtype=[dtype], name="roi_align")
    return made


def _channels(x: te.Tensor, bins: Sequence[int], apart: bool) -> tuple[Any, Callable[..., Any]]:
    """How many a region has, and which one of the picture a bin reads."""
    if not apart:
        return x.shape[1], lambda c, oh, ow: c
    count = bins[0] * bins[1]
    return tir.indexdiv(x.shape[1], count), lambda c, oh, ow: c * count + oh * bins[1] + ow


def pooled(
    x: te.Tensor, rois: te.Tensor, bounds: Bounds, bins: Sequence[int], kind: str,
    *, apart: bool = False, last: int = 0,
) -> te.Tensor:
    """The largest element of each bin, or (`kind` "mean") the mean; 0 where it has none.

    (b, c, h, w), (r, 5): which image, two corners -> (r, c, *bins). Bins end within the picture,
    `last` elements before its end. With `apart` each bin reads channels of its own.
    """
    channels, channel = _channels(x, bins, apart)
    zero = tir.const(0, x.dtype)

    def body(ins: Any, outs: Any) -> Any:
        ib = ir_builder.create()
        data, boxes = map(ib.buffer_ptr, ins)
        out = ib.buffer_ptr(outs[0])

        def element(image: Any, c: Any, oh: Any, ow: Any, ends: Any, found: Any) -> Any:
            high, wide = ends[1] - ends[0], ends[3] - ends[2]
            found[0] = zero if kind == "mean" else tir.min_value(x.dtype)
            with ib.for_range(0, high, "i") as i, ib.for_range(0, wide, "j") as j:
                value = data[image, channel(c, oh, ow), ends[0] + i, ends[2] + j]
                found[0] = found[0] + value if kind == "mean" else tir.max(found[0], value)
            held = found[0]
            if kind == "mean":
                held = held / tir.max(high * wide, tir.const(1, "int64")).astype(x.dtype)
            return tir.if_then_else(tir.all(high > 0, wide > 0), held, zero)

        with ib.for_range(0, rois.shape[0], "r", kind="parallel") as r:
            ends = ib.allocate("int64", (4,), name="ends", scope="local")  # of each thread
            found = ib.allocate(x.dtype, (1,), name="found", scope="local")
            with ib.for_range(0, bins[0], "oh") as oh, ib.for_range(0, bins[1], "ow") as ow:
                for axis, o in enumerate((oh, ow)):
                    limit = x.shape[2 + axis].astype("int64") - last
                    for k, end in enumerate(bounds(boxes, r, axis, o.astype("int64"))):
                        ends[2 * axis + k] = tir.min(tir.max(end, tir.const(0, "int64")), limit)
                with ib.for_range(0, channels, "c") as c:
                    image = boxes[r, 0].astype("int64")
                    out[r, c, oh, ow] = element(image, c, oh, ow, ends, found)
        return ib.get()

    shape = (rois.shape[0], channels, *bins)
    made: te.Tensor = te.extern([shape], [x, rois], body, dtype=[x.dtype], name="roi_pool")
    return made


def between(
    x: te.Tensor, n: Any, c: Any, row: PrimExpr, column: PrimExpr, *, clamped: bool
) -> list[PrimExpr]:
    """The four weighted elements around a place; outside are zeros, or (clamped) the edge.

    With `clamped`, a place more than one element outside counts as zero.
    """
    height, width = x.shape[2], x.shape[3]
    outside = tir.const(False, "bool")
    if clamped:
        outside = tir.any(
            row < tir.const(-1, row.dtype), row > height.astype(row.dtype),
            column < tir.const(-1, row.dtype), column > width.astype(row.dtype),
        )  # fmt: skip
        zero = tir.const(0, row.dtype)
        row = tir.min(tir.max(row, zero), (height - 1).astype(row.dtype))
        column = tir.min(tir.max(column, zero), (width - 1).astype(row.dtype))
    top, left = tir.floor(row), tir.floor(column)
    found = []
    for i in (0, 1):
        for j in (0, 1):
            y, x_ = top.astype("int64") + i, left.astype("int64") + j
            weight = (row - top if i else 1.0 - (row - top)) * (
                column - left if j else 1.0 - (column - left)
            )
            inside = tir.all(y >= 0, y < height, x_ >= 0, x_ < width, tir.Not(outside))
            nothing = tir.const(0, x.dtype)
            taken = tir.if_then_else(inside, x(n, c, y, x_), nothing)
            found.append(taken * weight.astype(x.dtype))
    return found
