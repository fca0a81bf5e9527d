"""Regions and patches of images: RoiAlign, MaxRoiPool, CropAndResize, DeformConv, Col2Im."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.deformed import Windows, deformed
from tvm.relax.frontend.regions import Side, between, mean_places, pooled, sides
from tvm.tir.expr import IntImm

from .agreement import exactly
from .node import Node
from .registry import Result, convert
from .window import kernel_shape, with_channel_bias


@convert("RoiAlign")
def roi_align_output_corners(node: Node) -> Result:
    """Before operator set 16 places are not moved by half an element."""
    return _roi_align(node, "output_half_pixel")


@convert("RoiAlign", since=16)
def roi_align(node: Node) -> Result:
    return _roi_align(node, "half_pixel")


def _roi_align(node: Node, default: str) -> RelaxExpr:
    """Means (or largest) of places between elements, in the bins of each region (He et al. 2017).

    (n, c, h, w), (regions, 4), (regions,) -> (regions, c, oh, ow)
    """
    mode = str(node.attr("mode", "avg"))
    if mode not in ("avg", "max"):
        raise node.invalid("mode", mode, "avg, max")
    if not node.dtype(1).startswith(("float", "bfloat")):
        raise node.invalid("rois", node.dtype(1), "floating-point numbers")
    rows, columns = int(node.attr("output_height", 1)), int(node.attr("output_width", 1))
    ratio: PrimExpr | int = int(node.attr("sampling_ratio", 0))
    adaptive = isinstance(ratio, int) and ratio <= 0
    if adaptive and mode == "max":
        ratio = _largest_ratio(node, rows, columns)
    scale = float(node.attr("spatial_scale", 1.0))
    moved = node.attr("coordinate_transformation_mode", default) == "half_pixel"

    def compute(x: te.Tensor, rois: te.Tensor, which: te.Tensor, ratio: Any) -> Any:
        side = sides(rois.dtype, scale, 0 if adaptive else int(ratio), moved=moved)
        if mode == "max":
            return _unless_empty(_largest_places(x, rois, which, ratio, side, (rows, columns)))
        return mean_places(x, rois, which, side, (rows, columns))

    given = [node[0], node[1], node[2], ratio]
    return node.bb.emit_te(compute, *given, primfunc_name_hint="roi_align")


def _largest_places(
    x: te.Tensor, rois: te.Tensor, which: te.Tensor, ratio: Any, side: Side, bins: Sequence[int]
) -> te.Tensor:
    """The largest weighted elements around the places of each bin."""
    kind, (rows, columns) = rois.dtype, bins
    i, j = te.reduce_axis((0, ratio), "i"), te.reduce_axis((0, ratio), "j")

    def element(r: Any, c: Any, oh: Any, ow: Any) -> Any:
        left, wide, across = side(rois, r, 0, columns)
        top, high, down = side(rois, r, 1, rows)
        one = tir.const(1, kind)
        steps = tir.max(down, one), tir.max(across, one)
        row = top + oh.astype(kind) * high + (i.astype(kind) + 0.5) * high / steps[0]
        column = left + ow.astype(kind) * wide + (j.astype(kind) + 0.5) * wide / steps[1]
        parts = between(x, which(r), c, row, column, clamped=True)
        counted = tir.all(i.astype(kind) < down, j.astype(kind) < across)
        value = tir.max(tir.max(parts[0], parts[1]), tir.max(parts[2], parts[3]))
        return te.max(tir.if_then_else(counted, value, tir.min_value(x.dtype)), axis=[i, j])

    shape = (rois.shape[0], x.shape[1], rows, columns)
    made: te.Tensor = te.compute(shape, element, name="roi_align")
    return made


def _unless_empty(largest: te.Tensor) -> Any:
    """The largest elements, 0 where there was none."""
    least, zero = tir.min_value(largest.dtype), tir.const(0, largest.dtype)
    return te.compute(
        largest.shape,
        lambda *at: tir.Select(largest(*at) == least, zero, largest(*at)),
        name="unless_empty",
    )


def _largest_ratio(node: Node, rows: int, columns: int) -> PrimExpr | int:
    """As many places a bin as the largest region can have, which is the whole image."""
    height, width = node.shape(0)[2:]
    rois = node.optional(1)
    scale = float(node.attr("spatial_scale", 1.0))
    if isinstance(rois, Constant):
        boxes = rois.data.numpy() * scale
        sides = boxes[:, 2:] - boxes[:, :2]
        largest = max(float(sides[:, 0].max()) / columns, float(sides[:, 1].max()) / rows, 1.0)
        return int(np.ceil(largest))
    if not isinstance(height, IntImm) or not isinstance(width, IntImm):
        down, across = (
            tir.floordiv(n * 3 + (bins - 1), bins) for n, bins in ((height, rows), (width, columns))
        )
        most: PrimExpr = tir.max(tir.max(down, across), tir.const(1, "int64"))
        return most
    # regions may reach one image beyond each edge
    return max(-(-3 * height.value // rows), -(-3 * width.value // columns), 1)


@convert("MaxRoiPool")
def max_roi_pool(node: Node) -> Result:
    """The largest elements in the bins of each region; an empty bin gives 0 (Girshick 2015)."""
    rows, columns = (int(extent) for extent in node.attr("pooled_shape"))
    scale = float(node.attr("spatial_scale", 1.0))

    def bounds(rois: Any, r: Any, axis: int, o: Any) -> tuple[PrimExpr, PrimExpr]:
        kind, bins, side = rois.dtype, (rows, columns)[axis], 2 - axis
        low = tir.round(rois[r, side] * tir.const(scale, kind))
        high = tir.round(rois[r, side + 2] * tir.const(scale, kind))
        start, end = low.astype("int64"), high.astype("int64")
        # in integers, where nothing is rounded: floor(o * size / bins), and ceil for the next
        size = tir.max(end - start + 1, tir.const(1, "int64"))
        first = tir.indexdiv(o * size, bins) + start
        return first, tir.indexdiv((o + 1) * size + (bins - 1), bins) + start

    def compute(x: te.Tensor, rois: te.Tensor) -> Any:
        return pooled(x, rois, bounds, (rows, columns), "max")

    _require_pictures(node, op.take(node[1], Constant(np.asarray(0, "int64")), 1))
    return node.bb.emit_te(compute, node[0], node[1], primfunc_name_hint="max_roi_pool")


def _require_pictures(node: Node, which: RelaxExpr) -> None:
    """Numbers of pictures are checked as the program runs, also of regions that read nothing."""

    def compute(which: te.Tensor, count: Any) -> te.Tensor:
        r = te.reduce_axis((0, which.shape[0]), "r")

        def element() -> Any:
            number = which(r).astype("int64")
            return te.min(tir.all(number >= 0, number < count).astype("int32"), axis=[r])

        made: te.Tensor = te.compute((), element, name="pictures")
        return made

    count = node.shape(0)[0]
    every = node.bb.emit_te(compute, node.bb.emit(which), count, primfunc_name_hint="pictures")
    text = f"ONNX {node.op_type} {node.name!r}: a region's number of a picture is out of range"
    text = text.replace("{", "{{").replace("}", "}}")
    fits = op.not_equal(every, Constant(np.zeros((), "int32")))
    node.bb.emit(op.assert_op(fits, format=text))


@convert("com.microsoft.CropAndResize")
def crop_and_resize(node: Node) -> Result:
    """Each region as a picture of one size, its corners where the region has them.

    (n, c, h, w), (regions, 4) as (y1, x1, y2, x2) from 0 to 1, (regions,) -> (regions, c, oh, ow)
    """
    mode = str(node.attr("mode", "bilinear"))
    if mode not in ("bilinear", "nearest"):
        raise node.invalid("mode", mode, "bilinear, nearest")
    size = node.numbers(3, "crop_size", 2)
    beyond = float(node.attr("extrapolation_value", 0.0))

    def compute(x: te.Tensor, rois: te.Tensor, which: te.Tensor, rows: Any, columns: Any) -> Any:
        kind, zero = rois.dtype, tir.const(0, "int64")

        def place(r: Any, axis: int, o: Any, count: Any) -> Any:
            """Where an element of the crop lies along an axis of the picture."""
            last = (x.shape[2 + axis] - 1).astype(kind)
            low, high = rois(r, axis), rois(r, axis + 2)
            steps = tir.max(count - 1, tir.const(1, "int64")).astype(kind)
            corner = low * last + o.astype(kind) * ((high - low) * last / steps)
            return tir.Select(count > 1, corner, tir.const(0.5, kind) * (low + high) * last), last

        def element(r: Any, c: Any, oh: Any, ow: Any) -> Any:
            (y, bottom), (across, right) = place(r, 0, oh, rows), place(r, 1, ow, columns)
            within = tir.all(y >= 0, y <= bottom, across >= 0, across <= right)

            def at(row: Any, column: Any) -> Any:
                # clamped: what lies outside is read of no picture, but its address is made
                ends = (row, x.shape[2]), (column, x.shape[3])
                inside = [tir.max(tir.min(v.astype("int64"), n - 1), zero) for v, n in ends]
                return x(which(r), c, *inside).astype(kind)

            if mode == "nearest":
                # halves go up
                value = at(tir.floor(y + 0.5), tir.floor(across + 0.5))
            else:
                top, left = tir.floor(y), tir.floor(across)
                down, aside = y - top, across - left
                ends = [at(v, left) + (at(v, tir.ceil(across)) - at(v, left)) * aside
                        for v in (top, tir.ceil(y))]  # fmt: skip
                value = ends[0] + (ends[1] - ends[0]) * down
            return tir.if_then_else(within, value.astype(x.dtype), tir.const(beyond, x.dtype))

        shape = (rois.shape[0], x.shape[1], rows, columns)
        return te.compute(shape, element, name="crop_and_resize")

    extents = [tir.const(n, "int64") if isinstance(n, int) else n for n in size]
    _require_pictures(node, node[2])
    given = [node[0], node[1], node[2], *extents]
    return node.bb.emit_te(compute, *given, primfunc_name_hint="crop_and_resize")


@convert("DeformConv")
def deform_conv(node: Node) -> Result:
    """A convolution whose taps are moved by offsets, and scaled by a mask (Zhu et al. 2018).

    (n, c, h, w), (o, c / groups, kh, kw), (n, g * kh * kw * 2, oh, ow) -> (n, o, oh, ow)
    """
    kh, kw = kernel_shape(node)
    strides = [int(s) for s in node.attr("strides", [1, 1])]
    pads = [int(p) for p in node.attr("pads", [0] * 4)]
    dilations = [int(d) for d in node.attr("dilations", [1, 1])]
    groups, moving = int(node.attr("group", 1)), int(node.attr("offset_group", 1))
    filters, inner = node.shape(1)[:2]
    if not isinstance(inner, IntImm) or not isinstance(filters, IntImm):
        raise node.invalid("the channels", f"{inner}, {filters}", "numbers")
    mask = node[4] if node.has(4) else None
    windows = Windows((kh, kw), strides, pads, dilations)
    result = deformed(node.bb, node[0], node[1], node[2], mask, windows, groups, moving)
    return with_channel_bias(result, node.optional(3), 4)


@convert("Col2Im", since=18)
def col2im(node: Node) -> Result:
    """Patches put back where they were cut out, sums where they overlap.

    (n, c * taps, blocks) -> (n, c, image...)
    """
    block = node.integers(2, "block_shape")
    image = node.numbers(1, "image_shape", len(block))
    spatial, taps = len(image), int(np.prod(block))
    strides = [int(s) for s in node.attr("strides", [1] * spatial)]
    dilations = [int(d) for d in node.attr("dilations", [1] * spatial)]
    pads = [int(p) for p in node.attr("pads", [0] * (2 * spatial))]
    rows = node.shape(0)[1]
    if not isinstance(rows, IntImm) or rows.value % taps:
        raise node.invalid("input 0", f"{rows} rows", f"a multiple of {taps}")

    def counts_in(image: Any) -> list[Any]:
        """How many places a block has along each axis."""
        room = [image[d] + (pads[d] + pads[d + spatial] - (block[d] - 1) * dilations[d] - 1)
                for d in range(spatial)]  # fmt: skip
        return [tir.indexdiv(n, stride) + 1 for n, stride in zip(room, strides)]

    blocks = functools.reduce(lambda a, b: a * b, counts_in(image))
    exactly(node, 0, [node.shape(0)[0], rows, blocks])

    def compute(x: te.Tensor, image: Any) -> Any:
        counts = counts_in(image)
        axes = [te.reduce_axis((0, extent), f"k{d}") for d, extent in enumerate(block)]

        def element(n: Any, c: Any, *at: Any) -> Any:
            tap: Any = tir.const(0, "int64")
            place: Any = tir.const(0, "int64")
            legal: list[Any] = []
            for d, (axis, position) in enumerate(zip(axes, at)):
                start = position + pads[d] - axis * dilations[d]
                tap = tap * block[d] + axis
                place = place * counts[d] + tir.indexdiv(start, strides[d])
                legal += [
                    start >= 0, tir.indexmod(start, strides[d]) == 0,
                    tir.indexdiv(start, strides[d]) < counts[d],
                ]  # fmt: skip
            value = x(n, c * taps + tap, place)
            zero = tir.const(0, x.dtype)
            return te.sum(tir.if_then_else(tir.all(*legal), value, zero), axis=axes)

        shape = (x.shape[0], int(rows) // taps, *image)
        return te.compute(shape, element, name="col2im")

    return node.bb.emit_te(compute, node[0], list(image), primfunc_name_hint="col2im")
