"""Choosing boxes: those with a score, and those that overlap no better one."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call, TupleWrapper, const
from tvm.relay.op.declare import Expr, Relate, relay_op, topi
from tvm.relay.op.relations import extents, tensor
from tvm.relay.ty import TensorType

from .kernel import kernel


def _number(value: Any, dtype: str) -> Any:
    return const(value, dtype) if isinstance(value, (int, float)) else value


@relay_op("vision.get_valid_counts", "GetValidCountsAttrs", level=5,
          operands=("data", "score_threshold"),
          lower=kernel(topi.vision.get_valid_counts))  # fmt: skip
def _get_valid_counts(
    data: Expr, score_threshold: Expr, id_index: int = 0, score_index: int = 1
) -> Call:
    """How many boxes have a score above a threshold; they come first."""
    return _get_valid_counts.call(
        data, score_threshold, id_index=id_index, score_index=score_index
    )


def get_valid_counts(
    data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1
) -> TupleWrapper:
    """How many boxes have a score above a threshold (a number or a tensor); they come first."""
    threshold = _number(score_threshold, "float32")
    return TupleWrapper(_get_valid_counts(data, threshold, id_index, score_index), 3)


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
    optional={"force_suppress": False, "top_k": -1, "coord_start": 2, "score_index": 1,
              "id_index": 0, "return_indices": True, "invalid_to_bottom": False},
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


def _regular_type(ctx: Relate) -> Type | None:
    boxes, scores = tensor(ctx, 0), tensor(ctx, 1)
    if boxes is None or scores is None:
        return None
    if len(boxes.shape) != 3 or len(scores.shape) != 3:
        raise ctx.fail("boxes and scores have three dimensions", "(batch, boxes, 4 or classes)")
    batch, most = extents(boxes)[0], int(ctx.attrs.max_detections)
    shapes = [(batch, most, 4), (batch, most), (batch, most), (batch,)]
    return TupleType([TensorType(shape, boxes.dtype) for shape in shapes])


@relay_op(
    "vision.regular_non_max_suppression", "RegularNonMaximumSuppressionAttrs", level=5,
    operands=("boxes", "scores"), relation=_regular_type,
    lower=lambda bb, *args, **o: bb.call_te(topi.vision.regular_non_max_suppression, *args, **o),
)
def _regular_nms(
    boxes: Expr, scores: Expr, max_detections_per_class: int, max_detections: int,
    num_classes: int, iou_threshold: float, score_threshold: float,
) -> Call:  # fmt: skip
    """Of each class the boxes that overlap no better one, and of all classes the best."""
    return _regular_nms.call(
        boxes, scores, max_detections_per_class=int(max_detections_per_class),
        max_detections=int(max_detections), num_classes=int(num_classes),
        iou_threshold=float(iou_threshold), score_threshold=float(score_threshold),
    )  # fmt: skip


def regular_non_max_suppression(
    boxes: Expr, scores: Expr, max_detections_per_class: int, max_detections: int,
    num_classes: int, iou_threshold: float, score_threshold: float,
) -> TupleWrapper:  # fmt: skip
    """Boxes, classes, scores and how many they are, as TensorFlow Lite finds them.

    boxes (batch, n, 4) of (y, x, y, x), scores (batch, n, classes), where classes before the last
    `num_classes` are background.
    """
    made = _regular_nms(
        boxes, scores, max_detections_per_class, max_detections, num_classes, iou_threshold,
        score_threshold,
    )  # fmt: skip
    return TupleWrapper(made, 4)
