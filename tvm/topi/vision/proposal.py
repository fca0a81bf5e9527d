"""Regions that a network proposes: boxes around a grid's points, moved, and the best that differ.

S. Ren, K. He, R. Girshick and J. Sun, Faster R-CNN (2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute, extents
from tvm.topi.loops import grid, load, local, loop, parallel, sequence, store, when
from tvm.topi.sort import argsort

_CORNERS = 4
Box = tuple[Any, Any, Any, Any]


def generate_anchor(ratio: float, scale: float, base_size: int) -> tuple[float, ...]:
    """The corners (x, y, x, y) of a box of whole pixels around a cell of `base_size` pixels.

    `ratio` is height by width, `scale` how many cells wide a square box is.
    """
    middle = 0.5 * (base_size - 1.0)
    columns = math.floor(math.sqrt(math.floor(base_size * base_size / ratio)) + 0.5)
    width, height = columns * scale, math.floor(columns * ratio + 0.5) * scale
    across, down = 0.5 * (width - 1.0), 0.5 * (height - 1.0)
    return middle - across, middle - down, middle + across, middle + down


def reg_bbox(
    x1: Any, y1: Any, x2: Any, y2: Any, dx: Any, dy: Any, dw: Any, dh: Any
) -> tuple[Any, ...]:
    """A box whose centre is moved by parts of its size, and whose size grows by powers of e."""

    def side(low: Any, high: Any, shift: Any, grow: Any) -> tuple[Any, Any]:
        size = high - low + 1.0
        middle = shift * size + low + 0.5 * (size - 1.0)
        half = 0.5 * (tir.exp(grow) * size - 1.0)
        return middle - half, middle + half

    (left, right), (top, bottom) = side(x1, x2, dx, dw), side(y1, y2, dy, dh)
    return left, top, right, bottom


def reg_iou(
    x1: Any, y1: Any, x2: Any, y2: Any, dx1: Any, dy1: Any, dx2: Any, dy2: Any
) -> tuple[Any, ...]:
    """A box whose corners are moved by pixels."""
    return x1 + dx1, y1 + dy1, x2 + dx2, y2 + dy2


def _whole_overlap(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> PrimExpr:
    """Intersection over union of boxes (x, y, x, y) whose corners are pixels inside."""

    def area(box: Sequence[PrimExpr]) -> PrimExpr:
        value: PrimExpr = (box[2] - box[0] + 1.0) * (box[3] - box[1] + 1.0)
        return value

    zero = tir.const(0, a[0].dtype)
    width = te.max(zero, te.min(a[2], b[2]) - te.max(a[0], b[0]) + 1.0)
    height = te.max(zero, te.min(a[3], b[3]) - te.max(a[1], b[1]) + 1.0)
    shared = width * height
    both: PrimExpr = area(a) + area(b) - shared
    share: PrimExpr = shared / both
    return share


def _candidates(
    cls_prob: te.Tensor, bbox_pred: te.Tensor, im_info: te.Tensor,
    anchors: Sequence[Sequence[float]], feature_stride: int, rpn_min_size: Any, iou_loss: bool,
) -> te.Tensor:  # fmt: skip
    """All boxes with their scores.   (b, h * w * anchors, 5), of what does not count -1."""
    batch, _, height, width = extents(cls_prob, "bahw", "proposal")
    count, dtype = len(anchors), str(cls_prob.dtype)

    def anchor(k: PrimExpr, side: int) -> PrimExpr:
        value: PrimExpr = tir.const(anchors[-1][side], dtype)
        for at in range(count - 2, -1, -1):
            value = tir.Select(k.equal(at), tir.const(anchors[at][side], dtype), value)
        return value

    def element(b: PrimExpr, index: PrimExpr, part: PrimExpr) -> PrimExpr:
        point, k = tir.indexdiv(index, count), tir.indexmod(index, count)
        y, x = tir.indexdiv(point, width), tir.indexmod(point, width)
        start = [(at * feature_stride).astype(dtype) for at in (x, y)]
        corners = [anchor(k, side) + start[side % 2] for side in range(_CORNERS)]
        moves = [bbox_pred(b, k * _CORNERS + side, y, x) for side in range(_CORNERS)]
        moved = (reg_iou if iou_loss else reg_bbox)(*corners, *moves)
        edge = [im_info(b, 1 - side % 2) - 1.0 for side in range(_CORNERS)]
        zero = tir.const(0, dtype)
        box = [te.max(te.min(value, last), zero) for value, last in zip(moved, edge)]
        least = im_info(b, 2) * tir.const(rpn_min_size, dtype)
        small = tir.any(box[2] - box[0] + 1.0 < least, box[3] - box[1] + 1.0 < least)
        rows, columns = ((im_info(b, k) / float(feature_stride)).astype("int32") for k in (0, 1))
        outside = tir.any(y >= rows, x >= columns)
        score = tir.Select(
            tir.any(small, outside), tir.const(-1, dtype), cls_prob(b, count + k, y, x)
        )
        value: PrimExpr = score
        for side in range(_CORNERS - 1, -1, -1):
            grown = box[side] + (least if side >= 2 else -least) * 0.5
            value = tir.Select(part.equal(side), tir.Select(small, grown, box[side]), value)
        return value

    return compute((batch, height * width * count, 5), element, name="candidates")


@explained
def proposal(
    cls_prob: te.Tensor, bbox_pred: te.Tensor, im_info: te.Tensor, scales: Sequence[float],
    ratios: Sequence[float], feature_stride: int, threshold: float, rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int, rpn_min_size: Any, iou_loss: bool,
) -> te.Tensor:  # fmt: skip
    """Proposed regions, by falling score.   -> (b * rpn_post_nms_top_n, 5)

    cls_prob (b, 2 * anchors, h, w) holds scores of background, then of objects; bbox_pred
    (b, 4 * anchors, h, w) how boxes move; im_info (b, 3) an image's height, width and scale. There
    is an anchor for each ratio and scale. A region is (image, x, y, x, y) in pixels. Of the best
    `rpn_pre_nms_top_n` boxes those stay that overlap no better one by more than `threshold`; where
    they are too few, they come again.
    """
    anchors = [generate_anchor(float(r), float(s), feature_stride) for r in ratios for s in scales]
    batch, channels, _, _ = extents(cls_prob, "bahw", "proposal")
    for name, have, want in (
        ("cls_prob", channels, 2 * len(anchors)),
        ("bbox_pred", extents(bbox_pred, "bahw", "proposal")[1], _CORNERS * len(anchors)),
    ):
        if isinstance(have, (int, tir.IntImm)) and int(have) != want:
            raise ShapeError(
                message(
                    f"proposal: channels of {name}",
                    found=str(have),
                    legal=f"{want}, of {len(ratios)} ratios and {len(scales)} scales",
                )
            )
    boxes = _candidates(
        cls_prob, bbox_pred, im_info, anchors, feature_stride, rpn_min_size, iou_loss
    )
    count = boxes.shape[1]
    most = te.min(count, rpn_pre_nms_top_n) if rpn_pre_nms_top_n > 0 else count
    scores = compute((batch, count), lambda b, i: boxes(b, i, _CORNERS), name="scores")
    order = argsort(scores, axis=1, is_ascend=False, dtype="int32")
    wanted = int(rpn_post_nms_top_n)
    dtype = str(cls_prob.dtype)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        source, ranks, out = *ins, outs[0]

        def image(b: PrimExpr) -> tir.Stmt:
            def corners(rank: PrimExpr) -> list[PrimExpr]:
                index = load(ranks, b, rank)
                return [load(source, b, index, side) for side in range(_CORNERS)]

            def choose(kept: tir.Buffer) -> tir.Stmt:
                total = load(kept, 0)

                def candidate(i: PrimExpr) -> tir.Stmt:
                    def decide(free: tir.Buffer) -> tir.Stmt:
                        def look(k: PrimExpr) -> tir.Stmt:
                            chosen = [load(out, b * wanted + k, 1 + s) for s in range(_CORNERS)]
                            meets = _whole_overlap(chosen, corners(i)) > float(threshold)
                            return when(meets, store(free, 0, 0))

                        keep = [
                            store(out, value, b * wanted + total, 1 + side)
                            for side, value in enumerate(corners(i))
                        ]
                        return sequence(
                            store(free, 1, 0), loop(total, look, "k"),
                            when(load(free, 0) > 0, sequence(*keep, store(kept, total + 1, 0))),
                        )  # fmt: skip

                    return when(total < wanted, local("int32", decide, 1, "free"))

                def again(k: PrimExpr) -> tir.Stmt:
                    copied = [
                        store(out, load(out, b * wanted + k, 1 + side),
                              b * wanted + total + k, 1 + side)
                        for side in range(_CORNERS)
                    ]  # fmt: skip
                    return sequence(*copied)

                name = loop(wanted, lambda k: store(out, b, b * wanted + k, 0), "k")
                return sequence(
                    store(kept, 0, 0), name, loop(most, candidate, "i"),
                    when(total > 0, loop(wanted - total, again, "k")),
                )  # fmt: skip

            return local("int32", choose, 1, "kept")

        clear = grid((batch * wanted, 5), lambda r, k: store(out, 0, r, k), "z")
        return sequence(clear, parallel(batch, image, "b"))

    inputs = [boxes, order]
    shape = (batch * wanted, 5)
    made: te.Tensor = te.extern(
        [shape], inputs, body, dtype=[dtype],
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(shape, dtype, "regions")],
        name="proposal", tag="proposal",
    )  # fmt: skip
    return made
