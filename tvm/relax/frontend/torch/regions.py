"""Regions and boxes of pictures, and taps that move, as torchvision has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import TupleGetItem
from tvm.relax.frontend.deformed import Windows, deformed
from tvm.relax.frontend.regions import mean_places, pooled, sides

from .registry import convert
from .values import Expr, cast, lengths, refuse, scalar, sizes, tensor_of


@convert("roi_align")
def roi_align(
    bb: BlockBuilder, input: Expr, rois: Expr, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, aligned: bool = False,
) -> Expr:  # fmt: skip
    """(b, c, h, w), (regions, 5): image, x, y, x, y -> (regions, c, ph, pw)"""
    bins = (pooled_height, pooled_width)
    return _aligned(
        bb, input, rois, spatial_scale, bins, sampling_ratio, aligned, apart=False
    )


def _aligned(
    bb: BlockBuilder, input: Expr, rois: Expr, scale: float, bins: Sequence[int], ratio: int,
    moved: bool, *, apart: bool,
) -> Expr:  # fmt: skip
    first = bb.emit(op.strided_slice(rois, [1], [0], [1]))
    which = bb.emit(op.astype(bb.emit(op.squeeze(first, [1])), "int64"))
    boxes = bb.emit(op.strided_slice(rois, [1], [1], [5]))

    def compute(x: te.Tensor, boxes: te.Tensor, which: te.Tensor) -> Any:
        side = sides(boxes.dtype, float(scale), max(ratio, 0), moved=moved)
        return mean_places(x, boxes, which, side, bins, apart=apart)

    return bb.emit_te(compute, input, boxes, which, primfunc_name_hint="roi_align")


@convert("ps_roi_align")
def ps_roi_align(
    bb: BlockBuilder, input: Expr, rois: Expr, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int,
) -> Any:  # fmt: skip
    """Each bin of channels of its own; and which ones, which only a gradient asks for."""
    bins = (pooled_height, pooled_width)
    made = _aligned(bb, input, rois, spatial_scale, bins, sampling_ratio, True, apart=True)
    return made, lambda: _places("ps_roi_align")


def _places(name: str) -> Any:
    raise refuse(f"{name}: the places that its results come from", "a use of them", "the results")


@convert("roi_pool")
def roi_pool(
    bb: BlockBuilder, input: Expr, rois: Expr, spatial_scale: float, pooled_height: int,
    pooled_width: int,
) -> Any:  # fmt: skip
    """The largest element of each bin; and which it is, which only a gradient asks for."""
    return _pooled(bb, input, rois, spatial_scale, (pooled_height, pooled_width), "roi_pool")


@convert("ps_roi_pool")
def ps_roi_pool(
    bb: BlockBuilder, input: Expr, rois: Expr, spatial_scale: float, pooled_height: int,
    pooled_width: int,
) -> Any:  # fmt: skip
    """The mean of each bin, in channels of its own."""
    return _pooled(bb, input, rois, spatial_scale, (pooled_height, pooled_width), "ps_roi_pool")


def _pooled(
    bb: BlockBuilder, input: Expr, rois: Expr, scale: float, bins: Sequence[int], name: str
) -> Any:
    apart = name == "ps_roi_pool"

    def bounds(boxes: Any, r: Any, axis: int, o: Any) -> tuple[Any, Any]:
        kind = boxes.dtype
        low, high = (
            tir.round(boxes[r, side] * tir.const(scale, kind)).astype("int64")
            for side in (2 - axis, 4 - axis)
        )
        size = tir.max(high - low + (0 if apart else 1), tir.const(1, "int64")).astype(kind)
        step = size / tir.const(bins[axis], kind)
        first, after = tir.floor(o.astype(kind) * step), tir.ceil((o + 1).astype(kind) * step)
        return first.astype("int64") + low, after.astype("int64") + low

    def compute(x: te.Tensor, boxes: te.Tensor) -> Any:
        kind, last = ("mean", 1) if apart else ("max", 0)
        return pooled(x, boxes, bounds, bins, kind, apart=apart, last=last)

    made = bb.emit_te(compute, input, rois, primfunc_name_hint=name)
    return made, lambda: _places(name)


@convert("nms")
def nms(bb: BlockBuilder, dets: Expr, scores: Expr, iou_threshold: float) -> Any:
    """Which boxes do not overlap a better one, the best first: (n, 4), (n,) -> (k,)"""
    count = sizes(scores)[0]
    boxes = cast(bb, bb.emit(op.expand_dims(dets, [0])), "float32")
    rated = cast(bb, bb.emit(op.expand_dims(scores, [0, 1])), "float32")
    most = bb.emit(tensor_of(bb, count, "int64"))
    found = bb.emit(
        op.vision.all_class_non_max_suppression(
            boxes, rated, most, scalar(iou_threshold, "float32"), scalar(-math.inf, "float32")
        )
    )
    table, kept = (bb.emit(TupleGetItem(found, i)) for i in range(2))
    column = bb.emit(op.reshape(op.strided_slice(table, [1], [2], [3]), [count]))
    end = bb.emit(op.astype(kept, "int64"))
    start, step = (bb.emit(op.reshape(scalar(v, "int64"), [1])) for v in (0, 1))
    return op.dynamic_strided_slice(column, start, end, step)


@convert("deform_conv2d")
def deform_conv2d(
    bb: BlockBuilder, input: Expr, weight: Expr, offset: Expr, mask: Expr, bias: Expr,
    stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int,
    groups: int, offset_groups: int, use_mask: bool,
) -> Expr:  # fmt: skip
    """A convolution whose taps are moved by offsets (Dai et al. 2017), and scaled by a mask."""
    kernel = lengths(weight, "deform_conv2d: weight")[2:]
    windows = Windows(kernel, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    scale = mask if use_mask else None
    made = deformed(bb, input, weight, offset, scale, windows, groups, offset_groups)
    return op.add(made, op.reshape(bias, [1, sizes(bias)[0], 1, 1]))
