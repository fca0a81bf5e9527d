"""Regions of pictures, as torchvision has them."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.regions import mean_places, sides

from .registry import convert
from .values import Expr


@convert("roi_align")
def roi_align(
    bb: BlockBuilder, input: Expr, rois: Expr, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, aligned: bool = False,
) -> Expr:  # fmt: skip
    """(b, c, h, w), (regions, 5): image, x, y, x, y -> (regions, c, ph, pw)"""
    first = bb.emit(op.strided_slice(rois, [1], [0], [1]))
    which = bb.emit(op.astype(bb.emit(op.squeeze(first, [1])), "int64"))
    boxes = bb.emit(op.strided_slice(rois, [1], [1], [5]))

    def compute(x: te.Tensor, boxes: te.Tensor, which: te.Tensor) -> Any:
        side = sides(boxes.dtype, float(spatial_scale), max(sampling_ratio, 0), moved=aligned)
        return mean_places(x, boxes, which, side, (pooled_height, pooled_width))

    return bb.emit_te(compute, input, boxes, which, primfunc_name_hint="roi_align")
