"""Non-maximum suppression: of boxes that overlap, the one with the best score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import reduction
from tvm.topi.common import compute, extents
from tvm.topi.loops import grid, load, parallel, sequence, store, when
from tvm.topi.reshaping import reshape
from tvm.topi.scan import cumsum
from tvm.topi.sort import argsort

from .nms_util import (
    as_rows,
    binary_search,
    collect_selected_indices,
    collect_selected_indices_and_scores,
    run_all_class_nms,
)


@explained
def get_valid_counts(
    data: te.Tensor, score_threshold: Any = 0, id_index: int = 0, score_index: int = 1
) -> list[te.Tensor]:
    """Boxes above the score threshold, moved to the front of their batch.

    (b, n, k) -> counts (b,), boxes (b, n, k), the indices they came from (b, n); the rest is -1.
    With `id_index` >= 0, boxes of class -1 count as background and go too.
    """
    batch, count, width = extents(data, "bnk", "get_valid_counts")
    inputs = [data]
    if isinstance(score_threshold, te.Tensor):
        inputs.append(score_threshold)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        source, (counts, boxes, origins) = ins[0], outs
        if len(ins) > 1:
            limit: PrimExpr = load(ins[1], *[0] * len(ins[1].shape))
        else:
            limit = tir.const(score_threshold, data.dtype)

        def image(b: PrimExpr) -> tir.Stmt:
            clear = sequence(
                store(counts, 0, b),
                grid((count, width), lambda i, k: store(boxes, -1, b, i, k), "z"),
                grid((count,), lambda i: store(origins, -1, b, i), "z"),
            )

            def box(i: PrimExpr) -> tir.Stmt:
                good = load(source, b, i, score_index) > limit
                if id_index >= 0:
                    good = tir.all(good, load(source, b, i, id_index) >= 0)
                goal = load(counts, b)
                move = sequence(
                    grid((width,), lambda k: store(boxes, load(source, b, i, k), b, goal, k), "k"),
                    store(origins, i, b, goal),
                    store(counts, goal + 1, b),
                )
                return when(good, move)

            return sequence(clear, grid((count,), box, "i"))

        return parallel(batch, image, "b")

    shapes = [(batch,), (batch, count, width), (batch, count)]
    kinds = ["int32", str(data.dtype), "int32"]
    names = ["valid_count", "out_tensor", "out_indices"]
    result = te.extern(
        shapes, inputs, body, dtype=kinds,
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, d, n) for s, d, n in zip(shapes, kinds, names)],
        name="get_valid_counts", tag="get_valid_counts",
    )  # fmt: skip
    return list(result)


def _counts_above(scores: te.Tensor, threshold: Any) -> te.Tensor:
    """How many of the descending scores of each row are above the threshold."""
    rows, count = scores.shape
    inputs = [scores] + ([threshold] if isinstance(threshold, te.Tensor) else [])

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        if len(ins) > 1:
            limit: PrimExpr = load(ins[1], *[0] * len(ins[1].shape))
        else:
            limit = tir.const(threshold, scores.dtype)
        nothing = tir.Evaluate(0)

        def row(y: PrimExpr) -> tir.Stmt:
            return binary_search(lambda _: nothing, y, count, ins[0], limit, outs[0])

        return parallel(rows, row, "row")

    result = te.extern(
        [(rows,)], inputs, body, dtype=["int32"],
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer((rows,), "int32", "valid_count")], name="searchsorted",
        tag="searchsorted",
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


@explained
def all_class_non_max_suppression(
    boxes: te.Tensor, scores: te.Tensor, max_output_boxes_per_class: Any, iou_threshold: Any,
    score_threshold: Any, output_format: str = "onnx", output_shape: Any = None,
) -> list[te.Tensor]:  # fmt: skip
    """Suppression for each class on its own.   boxes (b, n, 4), scores (b, classes, n)

    "onnx": (batch, class, box) of all that stay, and how many they are. "tensorflow": (class, box)
    and scores for each batch, and how many.
    """
    if output_format not in ("onnx", "tensorflow"):
        raise ValueError(
            f"all_class_non_max_suppression: output_format {output_format!r}; legal: 'onnx', "
            "'tensorflow'"
        )
    batch, classes, count = extents(scores, "bcn", "all_class_non_max_suppression")
    rows = as_rows(scores)
    order = argsort(rows, axis=1, is_ascend=False, dtype="int32")
    ranked = compute(
        (batch * classes, count), lambda r, k: rows(r, order(r, k)), name="sorted_scores"
    )
    valid = _counts_above(ranked, score_threshold)
    onnx = output_format == "onnx"
    found = run_all_class_nms(
        boxes, ranked, order, valid, max_output_boxes_per_class, iou_threshold,
        return_scores=not onnx,
    )  # fmt: skip
    chosen, numbers = found[0], found[1]
    if onnx:
        offsets = cumsum(numbers, axis=0, exclusive=True, dtype="int64")
        indices = collect_selected_indices(
            classes, chosen, numbers, offsets, output_shape=output_shape
        )
        total = reduction.sum(numbers, axis=0, keepdims=True)
        wide = compute((1,), lambda i: total(i).astype("int64"), name="num_total_detections")
        return [indices, wide]
    by_image = reshape(numbers, (batch, classes))
    offsets = reshape(cumsum(by_image, axis=1, exclusive=True, dtype="int64"), (batch * classes,))
    totals = reduction.sum(by_image, axis=1)
    indices, kept = collect_selected_indices_and_scores(chosen, found[2], numbers, offsets, totals)
    return [indices, kept, totals]
