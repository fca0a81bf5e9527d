"""Regions of pictures: the places between elements that their bins are the mean of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.tir import ir_builder

# the boxes, which one, where its side starts, how many bins -> start, size of a bin, places
Side: TypeAlias = "Callable[[Any, Any, int, int], tuple[PrimExpr, PrimExpr, PrimExpr]]"
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
    x: te.Tensor, rois: te.Tensor, which: te.Tensor, side: Side, bins: Sequence[int]
) -> te.Tensor:
    """The mean of the places of each bin: (b, c, h, w), (r, 4), (r,) -> (r, c, *bins).

    What is to be read, and how much it counts, is the same for all channels.
    """
    kind, dtype, extents = rois.dtype, x.dtype, x.shape[2:]

    def body(ins: Any, outs: Any) -> Any:
        ib = ir_builder.create()
        data, boxes, images = map(ib.buffer_ptr, ins)
        out = ib.buffer_ptr(outs[0])

        def own(r: Any, axis: int) -> tuple[Any, Any, Any]:
            low, size, count = side(lambda at, k: boxes[at, k], r, 1 - axis, bins[axis])
            number = tir.min(tir.max(count.astype("int64"), 0), _MOST_PLACES)
            return low, size, number

        def place(bounds: tuple[Any, Any, Any], o: Any, t: Any) -> Any:
            low, size, number = bounds
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
            with ib.for_range(0, x.shape[1], "c") as c:
                parts = [
                    shares[k] * data[images[r], c, ends[k // 2], ends[2 + k % 2]] for k in range(4)
                ]
                out[r, c, oh, ow] = out[r, c, oh, ow] + (parts[0] + parts[1] + parts[2] + parts[3])

        with ib.for_range(0, rois.shape[0], "r", kind="parallel") as r:
            vertical, across = own(r, 0), own(r, 1)
            with ib.for_range(0, bins[0], "oh") as oh, ib.for_range(0, bins[1], "ow") as ow:
                with ib.for_range(0, x.shape[1], "c") as c:
                    out[r, c, oh, ow] = tir.const(0, dtype)
                with (
                    ib.for_range(0, vertical[2], "t") as t,
                    ib.for_range(0, across[2], "u") as u,
                ):
                    row, column = place(vertical, oh, t), place(across, ow, u)
                    with ib.if_scope(tir.all(near(row, extents[0]), near(column, extents[1]))):
                        total = vertical[2] * across[2]
                        add(r, oh, ow, around(row, extents[0]), around(column, extents[1]), total)
        return ib.get()

    shape = (rois.shape[0], x.shape[1], *bins)
    made: te.Tensor = te.extern([shape], [x, rois, which], body, dtype=[dtype], name="roi_align")
    return made
