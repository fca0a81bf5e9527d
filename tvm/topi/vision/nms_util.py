"""Parts of non-maximum suppression: overlap, the good scores, the loop, the collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute, extents
from tvm.topi.loops import (
    grid,
    load,
    local,
    loop,
    parallel,
    repeat_while,
    sequence,
    store,
    when,
)

Corner = Callable[[PrimExpr], PrimExpr]


def overlap(at: Corner, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Intersection over union of two boxes whose corners `at` gives by flat index."""

    def side(box: PrimExpr, k: int, pick: Callable[[Any, Any], PrimExpr]) -> PrimExpr:
        # either corner may come first
        value: PrimExpr = pick(at(box + k), at(box + k + 2))
        return value

    low = [(side(a, k, te.min), side(b, k, te.min)) for k in (0, 1)]
    high = [(side(a, k, te.max), side(b, k, te.max)) for k in (0, 1)]
    zero = tir.const(0, low[0][0].dtype)
    shared: PrimExpr | None = None
    for (low_a, low_b), (high_a, high_b) in zip(low, high):
        extent = te.max(zero, te.min(high_a, high_b) - te.max(low_a, low_b))
        shared = extent if shared is None else shared * extent
    assert shared is not None, "a box has two axes"
    area = [(high[0][n] - low[0][n]) * (high[1][n] - low[1][n]) for n in (0, 1)]
    union = area[0] + area[1] - shared
    return tir.Select(union <= zero, zero, shared / union)


@explained
def calculate_overlap(out_tensor: tir.Buffer, box_a_idx: PrimExpr, box_b_idx: PrimExpr) -> PrimExpr:
    """Intersection over union of the boxes at two indices of a flat buffer of corners."""
    return overlap(lambda index: load(out_tensor, index), box_a_idx, box_b_idx)


@explained
def binary_search(
    ib: Callable[[PrimExpr], tir.Stmt], y: PrimExpr, num_boxes: PrimExpr, scores: tir.Buffer,
    score_threshold: PrimExpr, out: tir.Buffer,
) -> tir.Stmt:  # fmt: skip
    """Set out[y] to how many of the descending scores of row y are above the threshold.

    `ib` is called with the row and returns what follows.
    """

    def search(low: tir.Buffer) -> tir.Stmt:
        def halves(high: tir.Buffer) -> tir.Stmt:
            lo, hi = load(low, 0), load(high, 0)
            middle = lo + tir.indexdiv(hi - lo, 2)
            step = when(
                load(scores, y, middle) > score_threshold,
                store(low, middle + 1, 0),
                store(high, middle, 0),
            )
            return sequence(
                store(low, 0, 0),
                store(high, num_boxes, 0),
                repeat_while(lo < hi, step),
                store(out, lo, y),
                ib(y),
            )

        return local(out.dtype, halves, name="high")

    return local(out.dtype, search, name="low")


@explained
def run_all_class_nms(
    boxes: te.Tensor, sorted_scores: te.Tensor, sorted_indices: te.Tensor, valid_count: te.Tensor,
    max_output_size_per_class: Any, iou_threshold: Any,
    nms_loop: Callable[..., tir.Stmt] | None = None, return_scores: bool = False,
    score_threshold: Any = None,
) -> list[te.Tensor]:  # fmt: skip
    """For each batch and class, the boxes that stay, best first, and how many they are.

    boxes (b, n, 4), the others (b * classes, n), valid_count (b * classes,). `nms_loop` may replace
    the statement of one row.
    """
    batch, count, _ = extents(boxes, "bnk", "run_all_class_nms")
    rows = sorted_scores.shape[0]
    classes = tir.indexdiv(rows, batch)
    inputs = [boxes, sorted_scores, sorted_indices, valid_count]
    limits = [x for x in (max_output_size_per_class, iou_threshold) if isinstance(x, te.Tensor)]

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        corners, scores, order, valid, *extra = ins
        extra_of = dict(zip(map(id, limits), extra))
        most = _limit(max_output_size_per_class, extra_of)
        limit = _limit(iou_threshold, extra_of)
        row_of = nms_loop or _row
        return parallel(
            rows,
            lambda row: row_of(
                row, tir.indexdiv(row, classes), corners, scores, order, load(valid, row), most,
                limit, outs,
            ),
            "row",
        )  # fmt: skip

    shapes = [(rows, count), (rows,)] + ([(rows, count)] if return_scores else [])
    kinds = ["int32", "int32"] + ([str(sorted_scores.dtype)] if return_scores else [])
    names = ["selected_indices", "num_detections", "selected_scores"][: len(shapes)]
    result = te.extern(
        shapes, [*inputs, *limits], body, dtype=kinds,
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}")
                    for k, t in enumerate([*inputs, *limits])],
        out_buffers=[tir.decl_buffer(s, d, n) for s, d, n in zip(shapes, kinds, names)],
        name="all_class_nms", tag="all_class_nms",
    )  # fmt: skip
    return list(result)


def _limit(value: Any, buffers: dict[int, tir.Buffer]) -> PrimExpr:
    if not isinstance(value, te.Tensor):
        return tir.const(value) if not isinstance(value, PrimExpr) else value
    buffer = buffers[id(value)]
    return load(buffer, *[0] * len(buffer.shape))


def _row(
    row: PrimExpr, image: PrimExpr, corners: tir.Buffer, scores: tir.Buffer, order: tir.Buffer,
    valid: PrimExpr, most: PrimExpr, limit: PrimExpr, outs: Sequence[tir.Buffer],
) -> tir.Stmt:  # fmt: skip
    """Take each box in turn that overlaps none of those taken by more than the limit."""
    kept, number = outs[0], outs[1]
    count = corners.shape[1]

    def corner(index: PrimExpr) -> PrimExpr:
        return load(corners, image, tir.indexdiv(index, 4), tir.indexmod(index, 4))

    def one(j: PrimExpr) -> tir.Stmt:
        box = load(order, row, j)

        def decide(good: tir.Buffer) -> tir.Stmt:
            def against(k: PrimExpr) -> tir.Stmt:
                shared = overlap(corner, box * 4, load(kept, row, k) * 4)
                return when(shared > limit.astype(shared.dtype), store(good, 0, 0))

            taken = load(number, row)
            more = [store(outs[2], load(scores, row, j), row, taken)] if len(outs) > 2 else []
            take = sequence(store(kept, box, row, taken), *more, store(number, taken + 1, row))
            return sequence(
                store(good, 1, 0),
                loop(taken, against, "k"),
                when(load(good, 0).equal(1), take),
            )

        room = load(number, row).astype("int64") < most.astype("int64")  # often the largest one
        return when(tir.all(j < valid, room), local("int32", decide, name="good"))

    clear = loop(
        count,
        lambda j: sequence(
            *[store(o, -1 if o is kept else 0, row, j) for o in outs if o is not number]
        ),
        "j",
    )
    return sequence(store(number, 0, row), clear, loop(count, one, "j"))


@explained
def collect_selected_indices(
    num_class: Any, selected_indices: te.Tensor, num_detections: te.Tensor,
    row_offsets: te.Tensor, ir: Any = None, max_output_boxes_per_class: Any = None,
    output_shape: Any = None, num_total_detections: Any = None, input_image_size: Any = None,
) -> te.Tensor:  # fmt: skip
    """(batch, class, box) of all boxes that stay, row after row; the rest is zero."""
    rows, count = extents(selected_indices, "rn", "collect_selected_indices")
    shape = tuple(output_shape or (rows * count, 3))

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        chosen, numbers, offsets = ins
        out = outs[0]

        def one(row: PrimExpr, j: PrimExpr) -> tir.Stmt:
            index = load(offsets, row) + j
            entry = (
                tir.indexdiv(row, num_class),
                tir.indexmod(row, num_class),
                load(chosen, row, j),
            )
            put = sequence(*[store(out, v, index, k) for k, v in enumerate(entry)])
            inside = tir.all(j < load(numbers, row), index < shape[0])
            return when(inside, put)

        clear = grid(shape, lambda i, k: store(out, 0, i, k), "z")
        return sequence(clear, grid((rows, count), one, "r"))

    inputs = [selected_indices, num_detections, row_offsets]
    result = te.extern(
        [shape], inputs, body, dtype=["int64"],
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(shape, "int64", "out")], name="collect_indices",
        tag="collect_indices",
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


@explained
def collect_selected_indices_and_scores(
    selected_indices: te.Tensor, selected_scores: te.Tensor, num_detections: te.Tensor,
    row_offsets: te.Tensor, num_total_detections: te.Tensor, ir: Any = None,
) -> list[te.Tensor]:  # fmt: skip
    """(class, box) and score of all boxes that stay, for each batch; the rest is zero.

    `num_total_detections` (batch,) says how many classes' rows belong together.
    """
    rows, count = extents(
        selected_indices, "rn", "collect_selected_indices_and_scores"
    )
    batch = num_total_detections.shape[0]
    classes = tir.indexdiv(rows, batch)
    shape, score_shape = (batch, classes * count, 2), (batch, classes * count)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        chosen, marks, numbers, offsets, _ = ins

        def one(row: PrimExpr, j: PrimExpr) -> tir.Stmt:
            image, own = tir.indexdiv(row, classes), tir.indexmod(row, classes)
            index = load(offsets, row) + j
            put = sequence(
                store(outs[0], own, image, index, 0),
                store(outs[0], load(chosen, row, j), image, index, 1),
                store(outs[1], load(marks, row, j), image, index),
            )
            return when(j < load(numbers, row), put)

        clear = [
            grid(shape, lambda *i: store(outs[0], 0, *i), "z"),
            grid(score_shape, lambda *i: store(outs[1], 0, *i), "z"),
        ]
        return sequence(*clear, grid((rows, count), one, "r"))

    inputs = [selected_indices, selected_scores, num_detections, row_offsets, num_total_detections]
    kinds = ["int64", str(selected_scores.dtype)]
    result = te.extern(
        [shape, score_shape], inputs, body, dtype=kinds,
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, d, "out") for s, d in zip((shape, score_shape), kinds)],
        name="collect_indices_and_scores", tag="collect_indices_and_scores",
    )  # fmt: skip
    return list(result)


def as_rows(tensor: te.Tensor) -> te.Tensor:
    """(b, classes, n) -> (b * classes, n)"""
    first, second, count = extents(tensor, "bcn", "all_class_non_max_suppression")
    return compute(
        (first * second, count),
        lambda r, k: tensor(tir.indexdiv(r, second), tir.indexmod(r, second), k),
        name="as_rows",
    )
