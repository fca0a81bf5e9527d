"""Detections: boxes around points, choosing boxes, values of regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.type import TupleType, Type
from tvm.relax import op as R
from tvm.relay.expr import Call, TupleWrapper, const
from tvm.relay.ty import TensorType

from .declare import REQUIRED, Expr, Relate, relay_op, topi
from .nn.conv import arranged, letters
from .relations import extents, tensor


def _kernel(func: Any) -> Any:
    """The meaning of an operator as a function on tensor expressions, options in their order."""
    return lambda bb, *args, **options: bb.call_te(func, *args, *options.values())


@relay_op("vision.get_valid_counts", "GetValidCountsAttrs", operands=("data",), level=5,
          lower=lambda bb, x, *, score_threshold, id_index, score_index: bb.call_te(
              topi.vision.get_valid_counts, x, score_threshold, id_index, score_index)
          )  # fmt: skip
def get_valid_counts(
    data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1
) -> Any:
    """How many boxes have a score above a threshold; they come first."""
    made = get_valid_counts.call(
        data, score_threshold=float(score_threshold), id_index=id_index, score_index=score_index
    )
    return TupleWrapper(made, 3)


def _number(value: Any, dtype: str) -> Any:
    return const(value, dtype) if isinstance(value, (int, float)) else value


def _nms_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    if len(dims) != 3:
        raise ctx.fail("boxes have three dimensions", "(batch, boxes, values of a box)")
    if not ctx.attrs.return_indices:
        return x
    return TupleType([TensorType(dims[:2], "int32"), TensorType((dims[0], 1), "int32")])


@relay_op(
    "vision.non_max_suppression", "NonMaximumSuppressionAttrs", level=5, relation=_nms_type,
    operands=("data", "valid_count", "indices", "max_output_size", "iou_threshold"),
    lower=lambda bb, *args, **o: bb.call_te(topi.vision.non_max_suppression, *args, **o),
)
def _non_max_suppression(
    data: Expr, valid_count: Expr, indices: Expr, max_output_size: Expr, iou_threshold: Expr,
    force_suppress: bool, top_k: int, coord_start: int, score_index: int, id_index: int,
    return_indices: bool, invalid_to_bottom: bool,
) -> Call:  # fmt: skip
    """Boxes that overlap no better one."""
    return _non_max_suppression.call(
        data, valid_count, indices, max_output_size, iou_threshold, force_suppress=force_suppress,
        top_k=top_k, coord_start=coord_start, score_index=score_index, id_index=id_index,
        return_indices=return_indices, invalid_to_bottom=invalid_to_bottom,
    )  # fmt: skip


def non_max_suppression(
    data: Expr, valid_count: Expr, indices: Expr, max_output_size: Any = -1,
    iou_threshold: Any = 0.5, force_suppress: bool = False, top_k: int = -1, coord_start: int = 2,
    score_index: int = 1, id_index: int = 0, return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any:  # fmt: skip
    """Boxes that overlap no better one (of their class), by falling score."""
    made = _non_max_suppression(
        data, valid_count, indices, _number(max_output_size, "int32"),
        _number(iou_threshold, "float32"), force_suppress, top_k, coord_start, score_index,
        id_index, return_indices, invalid_to_bottom,
    )  # fmt: skip
    return TupleWrapper(made, 2) if return_indices else made


def _all_class(bb: Any, *args: Any, output_format: str) -> Any:
    return bb.call_te(topi.vision.all_class_non_max_suppression, *args, output_format)


@relay_op(
    "vision.all_class_non_max_suppression", "AllClassNonMaximumSuppressionAttrs", level=5,
    operands=("boxes", "scores", "max_output_boxes_per_class", "iou_threshold",
              "score_threshold"),
    lower=_all_class,
)  # fmt: skip
def _all_class_nms(
    boxes: Expr, scores: Expr, max_output_boxes_per_class: Expr, iou_threshold: Expr,
    score_threshold: Expr, output_format: str = "onnx",
) -> Call:  # fmt: skip
    """Boxes that overlap no better one of their class, for each class."""
    return _all_class_nms.call(
        boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold,
        output_format=output_format,
    )  # fmt: skip


def all_class_non_max_suppression(
    boxes: Expr, scores: Expr, max_output_boxes_per_class: Any = -1, iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0, output_format: str = "onnx",
) -> TupleWrapper:  # fmt: skip
    """For each class, the boxes that overlap no better one."""
    made = _all_class_nms(
        boxes, scores, _number(max_output_boxes_per_class, "int32"),
        _number(iou_threshold, "float32"), _number(score_threshold, "float32"), output_format,
    )  # fmt: skip
    return TupleWrapper(made, 2 if output_format == "onnx" else 3)


@relay_op("vision.multibox_prior", "MultiBoxPriorAttrs", operands=("data",), level=5,
          lower=_kernel(topi.vision.multibox_prior))  # fmt: skip
def multibox_prior(
    data: Expr, sizes: Sequence[float] = (1.0,), ratios: Sequence[float] = (1.0,),
    steps: Sequence[float] = (-1.0, -1.0), offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Call:  # fmt: skip
    """Boxes of some sizes and ratios around each point of an image."""
    return multibox_prior.call(
        data, sizes=tuple(sizes), ratios=tuple(ratios), steps=tuple(steps),
        offsets=tuple(offsets), clip=clip,
    )  # fmt: skip


@relay_op("vision.multibox_transform_loc", "MultiBoxTransformLocAttrs", level=5,
          operands=("cls_prob", "loc_pred", "anchor"),
          lower=_kernel(topi.vision.multibox_transform_loc))  # fmt: skip
def _transform_loc(
    cls_prob: Expr, loc_pred: Expr, anchor: Expr, clip: bool, threshold: float,
    variances: Sequence[float], keep_background: bool,
) -> Call:  # fmt: skip
    """Boxes with class and score."""
    return _transform_loc.call(
        cls_prob, loc_pred, anchor, clip=clip, threshold=threshold, variances=tuple(variances),
        keep_background=keep_background,
    )  # fmt: skip


def multibox_transform_loc(
    cls_prob: Expr, loc_pred: Expr, anchor: Expr, clip: bool = True, threshold: float = 0.01,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2), keep_background: bool = False,
) -> TupleWrapper:  # fmt: skip
    """Boxes with class and score as a network moved them, and how many are good."""
    made = _transform_loc(
        cls_prob, loc_pred, anchor, clip, threshold, variances, keep_background
    )
    return TupleWrapper(made, 2)


def _region_type(ctx: Relate) -> Type | None:
    x, rois = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or rois is None:
        return None
    if len(rois.shape) != 2:
        raise ctx.fail("regions have two dimensions", "(regions, 5)")
    o = ctx.attrs
    size = letters(o.layout, extents(x))
    size.update(N=extents(rois)[0], H=o.pooled_size[0], W=o.pooled_size[1])
    return TensorType(arranged(o.layout, size), x.dtype)


def _size(value: Any) -> tuple[int, ...]:
    return (int(value),) * 2 if isinstance(value, int) else tuple(int(v) for v in value)


@relay_op("vision.roi_align", "ROIAlignAttrs", operands=("data", "rois"), level=5,
          relation=_region_type, lower=_kernel(topi.vision.roi_align),
          optional={"pooled_size": REQUIRED})  # fmt: skip
def roi_align(
    data: Expr, rois: Expr, pooled_size: Any, spatial_scale: float, sample_ratio: int = -1,
    layout: str = "NCHW", mode: str = "avg",
) -> Call:  # fmt: skip
    """Samples of each cell of each region, as their mean or the greatest."""
    return roi_align.call(
        data, rois, pooled_size=_size(pooled_size), spatial_scale=float(spatial_scale),
        sample_ratio=sample_ratio, layout=layout, mode=mode,
    )  # fmt: skip


def _roi_pool(
    bb: Any, x: Any, rois: Any, *, pooled_size: Any, spatial_scale: float, layout: str
) -> Any:
    if layout == "NHWC":
        x = bb.normalize_argument(R.permute_dims(x, [0, 3, 1, 2]))
    made = bb.call_te(topi.vision.roi_pool_nchw, x, rois, pooled_size, spatial_scale)
    if layout == "NCHW":
        return made
    return R.permute_dims(bb.normalize_argument(made), [0, 2, 3, 1])


@relay_op("vision.roi_pool", "ROIPoolAttrs", operands=("data", "rois"), level=5,
          relation=_region_type, lower=_roi_pool)  # fmt: skip
def roi_pool(
    data: Expr, rois: Expr, pooled_size: Any, spatial_scale: float, layout: str = "NCHW"
) -> Call:
    """The greatest of each cell of each region."""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"roi_pool: layout {layout!r}; legal: 'NCHW', 'NHWC'")
    return roi_pool.call(
        data, rois, pooled_size=_size(pooled_size), spatial_scale=float(spatial_scale),
        layout=layout,
    )  # fmt: skip


@relay_op("vision.yolo_reorg", "YoloReorgAttrs", operands=("data",), level=5,
          lower=lambda bb, x, *, stride: bb.call_te(topi.vision.reorg, x, stride))  # fmt: skip
def yolo_reorg(data: Expr, stride: int) -> Call:
    """Pixels as channels: (b, c, h, w) -> (b, c * s * s, h / s, w / s)."""
    return yolo_reorg.call(data, stride=stride)


__all__ = [
    "all_class_non_max_suppression", "get_valid_counts", "multibox_prior",
    "multibox_transform_loc", "non_max_suppression", "roi_align", "roi_pool", "yolo_reorg",
]  # fmt: skip
