"""Non-maximum suppression class by class, and of all classes the best (TensorFlow Lite's)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute, extents
from tvm.topi.loops import grid, load, local, loop, parallel, sequence, store, when
from tvm.topi.sort import argsort

from .nms_util import overlap


def _per_class(
    boxes: te.Tensor, scores: te.Tensor, order: te.Tensor, most: int, iou_threshold: float,
    score_threshold: float,
) -> list[te.Tensor]:  # fmt: skip
    """For each class the boxes that stay (b, classes, most) and their scores, else -1 and -inf."""
    batch, classes, count = scores.shape

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (corners, values, ranks), (chosen, kept_scores) = ins, outs

        def one(b: PrimExpr, c: PrimExpr) -> tir.Stmt:
            def choose(kept: tir.Buffer) -> tir.Stmt:
                total = load(kept, 0)

                def candidate(i: PrimExpr) -> tir.Stmt:
                    box = load(ranks, b, c, i)

                    def decide(free: tir.Buffer) -> tir.Stmt:
                        def at(index: PrimExpr) -> PrimExpr:
                            return load(corners, b, tir.indexdiv(index, 4), tir.indexmod(index, 4))

                        def look(k: PrimExpr) -> tir.Stmt:
                            shared = overlap(at, load(chosen, b, c, k) * 4, box * 4)
                            return when(shared > float(iou_threshold), store(free, 0, 0))

                        keep = sequence(
                            store(chosen, box, b, c, total),
                            store(kept_scores, load(values, b, c, box), b, c, total),
                            store(kept, total + 1, 0),
                        )
                        return sequence(
                            store(free, 1, 0), loop(total, look, "k"),
                            when(load(free, 0) > 0, keep),
                        )  # fmt: skip

                    good = tir.all(
                        total < most, load(values, b, c, box) >= float(score_threshold)
                    )
                    return when(good, local("int32", decide, 1, "free"))

                clear = loop(
                    most,
                    lambda k: sequence(
                        store(chosen, -1, b, c, k),
                        store(kept_scores, tir.min_value(str(scores.dtype)), b, c, k),
                    ),
                    "z",
                )
                return sequence(store(kept, 0, 0), clear, loop(count, candidate, "i"))

            return local("int32", choose, 1, "kept")

        return parallel(batch, lambda b: grid((classes,), lambda c: one(b, c), "c"), "b")

    inputs = [boxes, scores, order]
    shape, kinds = (batch, classes, most), ["int32", str(scores.dtype)]
    return list(
        te.extern(
            [shape, shape], inputs, body, dtype=kinds,
            in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
            out_buffers=[tir.decl_buffer(shape, d, n) for d, n in zip(kinds, ("chosen", "kept"))],
            name="per_class_nms", tag="per_class_nms",
        )
    )  # fmt: skip


@explained
def regular_non_max_suppression(
    boxes: te.Tensor, scores: te.Tensor, max_detections_per_class: int, max_detections: int,
    num_classes: int, iou_threshold: float, score_threshold: float,
) -> list[te.Tensor]:  # fmt: skip
    """Of each class the boxes that overlap no better one, and of all classes the best.

    boxes (b, n, 4) of (y, x, y, x), scores (b, n, classes), where classes before the last
    `num_classes` are background -> boxes (b, max_detections, 4), classes and scores
    (b, max_detections), by falling score, then zeros, and how many there are (b,).
    """
    batch, count, classes = extents(scores, "bnc", "regular_non_max_suppression")
    background = classes - num_classes
    dtype, most = str(scores.dtype), int(max_detections_per_class)
    by_class = compute(
        (batch, num_classes, count), lambda b, c, i: scores(b, i, c + background), name="by_class"
    )
    order = argsort(by_class, axis=2, is_ascend=False, dtype="int32")
    chosen, kept = _per_class(boxes, by_class, order, most, iou_threshold, score_threshold)
    flat = compute(
        (batch, num_classes * most),
        lambda b, i: kept(b, tir.indexdiv(i, most), tir.indexmod(i, most)),
        name="all_classes",
    )
    best = argsort(flat, axis=1, is_ascend=False, dtype="int32")

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (corners, found, values, ranks), (out, labels, found_scores, counts) = ins, outs

        def image(b: PrimExpr) -> tir.Stmt:
            def detection(i: PrimExpr) -> tir.Stmt:
                at = load(ranks, b, i)
                label, place = tir.indexdiv(at, most), tir.indexmod(at, most)
                box = load(found, b, label, place)
                fill = sequence(
                    *[store(out, load(corners, b, box, k), b, i, k) for k in range(4)],
                    store(labels, label, b, i),
                    store(found_scores, load(values, b, at), b, i),
                    store(counts, load(counts, b) + 1, b),
                )
                return when(box >= 0, fill)

            clear = sequence(
                store(counts, 0, b),
                grid((max_detections, 4), lambda i, k: store(out, 0, b, i, k), "z"),
                grid((max_detections,), lambda i: store(labels, 0, b, i), "z"),
                grid((max_detections,), lambda i: store(found_scores, 0, b, i), "z"),
            )
            number = te.min(tir.const(max_detections, "int32"), flat.shape[1])
            return sequence(clear, loop(number, detection, "i"))

        return parallel(batch, image, "b")

    inputs = [boxes, chosen, flat, best]
    rows = (batch, max_detections)
    shapes: list[Any] = [(*rows, 4), rows, rows, (batch,)]
    names = ("boxes", "classes", "scores", "number")
    return list(
        te.extern(
            shapes, inputs, body, dtype=[dtype] * 4,
            in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
            out_buffers=[tir.decl_buffer(s, dtype, n) for s, n in zip(shapes, names)],
            name="regular_non_max_suppression", tag="regular_non_max_suppression",
        )
    )  # fmt: skip
