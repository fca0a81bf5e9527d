"""Boxes that overlap too much are left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.op.declare import Array, Expr, Infer, OptionError, attrs_class, relax_op, topi
from tvm.relax.op.shapes import check_ndim, like
from tvm.relax.shape_math import product, simplify
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.support.dtype import DataType

AllClassNonMaximumSuppressionAttrs = attrs_class(
    "AllClassNonMaximumSuppressionAttrs", "output_format"
)
FORMATS = ("onnx", "tensorflow")
INT64 = DataType("int64")


@relax_op(
    "relax.vision.all_class_non_max_suppression",
    "boxes: Tensor, scores: Tensor, max_output_boxes_per_class: Tensor, iou_threshold: Tensor, "
    "score_threshold: Tensor",
    AllClassNonMaximumSuppressionAttrs,
)
def all_class_non_max_suppression(
    boxes: ExprLike,
    scores: ExprLike,
    max_output_boxes_per_class: ExprLike,
    iou_threshold: ExprLike,
    score_threshold: ExprLike,
    output_format: str = "onnx",
) -> Call:
    """For each class the boxes with the best scores that do not overlap a better one.

    boxes (batch, n, 4), scores (batch, classes, n). "onnx" gives the selected (batch, class, box)
    in (batch * classes * n, 3), of which the first so many count, and their number in (1,).
    "tensorflow" gives (class, box) and scores by batch, and the number for each batch.
    """
    if output_format not in FORMATS:
        raise OptionError(
            f"all_class_non_max_suppression: output_format is {output_format!r}; "
            f"legal: {', '.join(FORMATS)}"
        )
    return all_class_non_max_suppression.call(
        boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold,
        output_format=output_format,
    )  # fmt: skip


@all_class_non_max_suppression.infer
def _nms_info(
    ctx: Infer,
    boxes: TensorStructInfo,
    scores: TensorStructInfo,
    *limits: TensorStructInfo,
    output_format: str,
) -> StructInfo:
    check_ndim(ctx, "boxes", boxes, 3)
    check_ndim(ctx, "scores", scores, 3)
    if boxes.values is not None and scores.values is not None:
        for what, a, b in (
            ("batch", boxes.values[0], scores.values[0]),
            ("number of boxes", boxes.values[1], scores.values[2]),
        ):
            if ctx.differ(a, b):
                raise ctx.shape_error(f"the {what} of boxes and scores differs", f"{a}, {b}")
    if scores.values is None:
        count = None
        each = None
    else:
        batch, classes, number = scores.values
        count = simplify(product((batch, classes, number)), ctx.analyzer)
        each = simplify(classes * number, ctx.analyzer)
    one = TensorStructInfo((1,), "int64")
    if output_format == "onnx":
        selected = like(boxes, None, 2, INT64)
        if count is not None:
            selected = TensorStructInfo((count, 3), "int64")
        return TupleStructInfo((selected, one))
    if each is None or scores.values is None:
        return TupleStructInfo(
            (like(boxes, None, 3, INT64), like(scores, None, 2), like(boxes, None, 1, INT64))
        )
    batch = scores.values[0]
    return TupleStructInfo(
        (
            TensorStructInfo((batch, each, 2), "int64"),
            TensorStructInfo((batch, each), scores.dtype),
            TensorStructInfo((batch,), "int64"),
        )
    )


@all_class_non_max_suppression.legalize
def _nms_te(bb: BlockBuilder, *operands: Expr, output_format: str) -> Expr:
    return bb.call_te(
        topi.vision.all_class_non_max_suppression, *operands, output_format,
        primfunc_name_hint="all_class_non_max_suppression",
    )  # fmt: skip


def overlap(a: Array, b: Array) -> float:
    """Intersection over union of two boxes, corners in any order."""
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    common = float(np.prod(np.maximum(high - low, 0)))
    area = float(abs((a[2] - a[0]) * (a[3] - a[1])) + abs((b[2] - b[0]) * (b[3] - b[1])))
    return common / (area - common) if area > common else 0.0


def _selected(boxes: Array, scores: Array, limit: int, iou: float, least: float) -> list[int]:
    chosen: list[int] = []
    for at in np.argsort(-scores, kind="stable"):
        if len(chosen) >= limit or scores[at] <= least:
            break
        if all(overlap(boxes[at], boxes[other]) <= iou for other in chosen):
            chosen.append(int(at))
    return chosen


@all_class_non_max_suppression.reference
def _nms_numpy(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    output_format: str,
) -> Any:
    batches, classes, number = scores.shape
    limit, iou, least = (
        np.reshape(v, -1)[0] for v in (max_output_boxes_per_class, iou_threshold, score_threshold)
    )
    found = [
        (n, c, at)
        for n in range(batches)
        for c in range(classes)
        for at in _selected(boxes[n], scores[n, c], int(limit), float(iou), float(least))
    ]
    if output_format == "onnx":
        out = np.zeros((batches * classes * number, 3), np.int64)
        out[: len(found)] = np.asarray(found, np.int64).reshape(-1, 3)
        return out, np.asarray([len(found)], np.int64)
    indices = np.zeros((batches, classes * number, 2), np.int64)
    best = np.zeros((batches, classes * number), scores.dtype)
    counts = np.zeros(batches, np.int64)
    for n in range(batches):
        own = [(c, at) for b, c, at in found if b == n]
        own.sort(key=lambda pair: -scores[n][pair])
        counts[n] = len(own)
        for i, pair in enumerate(own):
            indices[n, i] = pair
            best[n, i] = scores[n][pair]
    return indices, best, counts
