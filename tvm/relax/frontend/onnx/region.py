"""Regions and patches of images: RoiAlign, MaxRoiPool, DeformConv, Col2Im."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.regions import Side, mean_places, sides
from tvm.tir.expr import IntImm

from .agreement import exactly
from .node import Node
from .registry import Result, convert
from .window import kernel_shape, with_channel_bias


def _between(
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
        parts = _between(x, which(r), c, row, column, clamped=True)
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

    def compute(x: te.Tensor, rois: te.Tensor) -> Any:
        kind = rois.dtype
        height, width = x.shape[2], x.shape[3]
        i, j = te.reduce_axis((0, height), "i"), te.reduce_axis((0, width), "j")

        def bounds(r: Any, side: int, o: Any, bins: int, extent: Any) -> tuple[PrimExpr, PrimExpr]:
            low = tir.round(rois(r, side) * tir.const(scale, kind))
            high = tir.round(rois(r, side + 2) * tir.const(scale, kind))
            start, end = low.astype("int64"), high.astype("int64")
            limit, none = extent.astype("int64"), tir.const(0, "int64")
            # in integers, where nothing is rounded: floor(o * size / bins), and ceil for the next
            size = tir.max(end - start + 1, tir.const(1, "int64"))
            first = tir.indexdiv(o * size, bins) + start
            last = tir.indexdiv((o + 1) * size + (bins - 1), bins) + start
            return tir.min(tir.max(first, none), limit), tir.min(tir.max(last, none), limit)

        def element(r: Any, c: Any, oh: Any, ow: Any) -> Any:
            left, right = bounds(r, 1, ow, columns, width)
            top, bottom = bounds(r, 2, oh, rows, height)
            inside = tir.all(i >= top, i < bottom, j >= left, j < right)
            value = x(rois(r, 0).astype("int64"), c, i, j)
            return te.max(tir.if_then_else(inside, value, tir.min_value(x.dtype)), axis=[i, j])

        shape = (rois.shape[0], x.shape[1], rows, columns)
        return _unless_empty(te.compute(shape, element, name="roi_max"))

    return node.bb.emit_te(compute, node[0], node[1], primfunc_name_hint="max_roi_pool")


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
    batch, channels = node.shape(0)[:2]
    filters = node.shape(1)[0]
    height, width = node.shape(2)[2:]
    taps = kh * kw
    if not isinstance(channels, IntImm) or not isinstance(filters, IntImm):
        raise node.invalid("the channels", f"{channels}, {filters}", "numbers")
    share = channels.value // moving

    def columns(x: te.Tensor, offset: te.Tensor, *mask: te.Tensor) -> Any:
        def element(n: Any, c: Any, t: Any, oh: Any, ow: Any) -> Any:
            kind = offset.dtype
            tap = tir.indexdiv(c, share) * taps + t
            row = oh * strides[0] - pads[0] + tir.indexdiv(t, kw) * dilations[0]
            column = ow * strides[1] - pads[1] + tir.indexmod(t, kw) * dilations[1]
            parts = _between(
                x, n, c, row.astype(kind) + offset(n, 2 * tap, oh, ow),
                column.astype(kind) + offset(n, 2 * tap + 1, oh, ow), clamped=False,
            )  # fmt: skip
            value = parts[0] + parts[1] + parts[2] + parts[3]
            return value * mask[0](n, tap, oh, ow) if mask else value

        return te.compute((batch, channels, taps, height, width), element, name="taps")

    inputs = [node[0], node[2], *([node[4]] if node.has(4) else [])]
    taken = node.bb.emit_te(columns, *inputs, primfunc_name_hint="deformed_taps")
    inner, out = channels.value // groups * taps, filters.value // groups
    rows = op.reshape(taken, [batch, groups, inner, height * width])
    weights = node.bb.emit(op.reshape(node[1], [groups, out, inner]))
    product = node.bb.emit(op.matmul(weights, node.bb.emit(rows)))
    result = node.bb.emit(op.reshape(product, [batch, filters, height, width]))
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
