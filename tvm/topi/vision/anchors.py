"""Boxes around the points of a grid, and where a network moved them; images in other shapes."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import extents
from tvm.topi.loops import grid, load, parallel, sequence, store, when
from tvm.topi.utils import get_const_int

from .suppression import non_max_suppression


@explained
def multibox_prior(
    data: te.Tensor, sizes: Sequence[float] = (1,), ratios: Sequence[float] = (1,),
    steps: Sequence[float] = (-1, -1), offsets: Sequence[float] = (0.5, 0.5), clip: bool = False,
) -> te.Tensor:  # fmt: skip
    """Boxes of some sizes and ratios around each point.   (b, c, h, w) -> (1, h * w * boxes, 4)"""
    height, width = (get_const_int(extent) for extent in data.shape[2:])
    sizes, ratios = [float(s) for s in sizes], [float(r) for r in ratios]
    shapes = [(s * height / width / 2, s / 2) for s in sizes]
    shapes += [
        (sizes[0] * height / width * r**0.5 / 2, sizes[0] / r**0.5 / 2) for r in ratios[1:]
    ]
    count = len(shapes)
    dtype = str(data.dtype)
    step_y = float(steps[0]) if steps[0] > 0 else 1.0 / height
    step_x = float(steps[1]) if steps[1] > 0 else 1.0 / width

    def half(k: PrimExpr, side: int) -> PrimExpr:
        value: PrimExpr = tir.const(shapes[-1][side], dtype)
        for at in range(count - 2, -1, -1):
            value = tir.Select(k.equal(at), tir.const(shapes[at][side], dtype), value)
        return value

    def element(_: PrimExpr, box: PrimExpr, corner: PrimExpr) -> PrimExpr:
        point, k = tir.indexdiv(box, count), tir.indexmod(box, count)
        y = (tir.indexdiv(point, width).astype(dtype) + float(offsets[0])) * step_y
        x = (tir.indexmod(point, width).astype(dtype) + float(offsets[1])) * step_x
        sign = tir.Select(corner < 2, tir.const(-1, dtype), tir.const(1, dtype))
        across = tir.indexmod(corner, 2).equal(0)
        value: PrimExpr = tir.Select(across, x + sign * half(k, 0), y + sign * half(k, 1))
        if clip:
            value = te.max(te.min(value, tir.const(1, dtype)), tir.const(0, dtype))
        return value

    made: te.Tensor = te.compute(
        (1, height * width * count, 4), element, name="multibox_prior"
    )
    return made


@explained
def multibox_transform_loc(
    cls_prob: te.Tensor, loc_pred: te.Tensor, anchor: te.Tensor, clip: bool = True,
    threshold: float = 0.01, variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    keep_background: bool = False,
) -> list[te.Tensor]:  # fmt: skip
    """Boxes of a class and a score, the good ones in front, and how many there are.

    (b, classes, n), (b, n * 4), (1, n, 4) -> (b, n, 6) of class, score and corners, (b,)
    """
    batch, classes, count = extents(cls_prob, "bcn", "multibox_transform_loc")
    dtype = str(cls_prob.dtype)
    first = 0 if keep_background else 1

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        prob, moved, anchors, (boxes, counts) = ins[0], ins[1], ins[2], outs

        def corner(b: PrimExpr, i: PrimExpr, k: int) -> PrimExpr:
            at = k % 2  # 0: across, 1: down
            low, high = load(anchors, 0, i, at), load(anchors, 0, i, at + 2)
            size, middle = high - low, (low + high) * 0.5
            shift = load(moved, b, i * 4 + at) * float(variances[at]) * size
            grown = tir.exp(load(moved, b, i * 4 + at + 2) * float(variances[at + 2]))
            half = grown * size * 0.5
            value: PrimExpr = middle + shift + (half if k >= 2 else -half)
            if clip:
                value = te.max(te.min(value, tir.const(1, dtype)), tir.const(0, dtype))
            return value

        def image(b: PrimExpr) -> tir.Stmt:
            clear = sequence(
                grid((count, 6), lambda i, k: store(boxes, -1, b, i, k), "z"),
                store(counts, 0, b),
            )

            def box(i: PrimExpr) -> tir.Stmt:
                to = load(counts, b)
                best = grid(
                    (classes,),
                    lambda j: when(
                        tir.all(j >= first, load(prob, b, j, i) > load(boxes, b, to, 1)),
                        sequence(
                            store(boxes, load(prob, b, j, i), b, to, 1),
                            store(boxes, (j - first).astype(dtype), b, to, 0),
                        ),
                    ),
                    "j",
                )
                corners = [store(boxes, corner(b, i, k), b, to, 2 + k) for k in range(4)]
                keep = sequence(*corners, store(counts, to + 1, b))
                forget = sequence(store(boxes, -1, b, to, 0), store(boxes, -1, b, to, 1))
                good = tir.all(
                    load(boxes, b, to, 0) >= 0, load(boxes, b, to, 1) >= float(threshold)
                )
                return sequence(best, when(good, keep, forget))

            return sequence(clear, grid((count,), box, "i"))

        return parallel(batch, image, "b")

    inputs = [cls_prob, loc_pred, anchor]
    shapes, kinds = [(batch, count, 6), (batch,)], [dtype, "int32"]
    result = te.extern(
        shapes, inputs, body, dtype=kinds,
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, d, n) for s, d, n in zip(shapes, kinds, ("boxes", "n"))],
        name="multibox_transform_loc", tag="multibox_transform_loc",
    )  # fmt: skip
    return list(result)


def multibox_detection(
    cls_prob: te.Tensor, loc_pred: te.Tensor, anchor: te.Tensor, clip: bool = True,
    threshold: float = 0.01, nms_threshold: float = 0.5, force_suppress: bool = False,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1,
) -> te.Tensor:  # fmt: skip
    """Boxes of `multibox_transform_loc` that overlap no better one (of their class).

    (b, n, 6) of class, score and corners, by falling score; the others are -1.
    """
    boxes, counts = multibox_transform_loc(
        cls_prob, loc_pred, anchor, clip, threshold, variances
    )
    indices = te.compute(boxes.shape[:2], lambda b, i: i, name="indices")
    (made,) = non_max_suppression(
        boxes, counts, indices, -1, nms_threshold, force_suppress, nms_topk, id_index=0,
        return_indices=False,
    )  # fmt: skip
    return made


@explained
def reorg(data: te.Tensor, stride: int) -> te.Tensor:
    """Pixels in another order, as YOLO has it.   (b, c, h, w) -> (b, c * s * s, h / s, w / s)"""
    batch, channels, height, width = extents(data, "nchw", "reorg")
    groups = tir.indexdiv(channels, stride * stride)
    out = (batch, channels * stride * stride, tir.indexdiv(height, stride),
           tir.indexdiv(width, stride))  # fmt: skip

    def element(b: PrimExpr, k: PrimExpr, j: PrimExpr, i: PrimExpr) -> PrimExpr:
        flat = ((b * out[1] + k) * out[2] + j) * out[3] + i  # its offset where nothing moved
        x, rest = tir.indexmod(flat, width), tir.indexdiv(flat, width)
        y, rest = tir.indexmod(rest, height), tir.indexdiv(rest, height)
        channel, image = tir.indexmod(rest, channels), tir.indexdiv(rest, channels)
        part = tir.indexdiv(channel, groups)
        column = x * stride + tir.indexmod(part, stride)
        row = y * stride + tir.indexdiv(part, stride)
        group = tir.indexmod(channel, groups) + groups * image
        offset = column + width * stride * (row + height * stride * group)
        x, rest = tir.indexmod(offset, width), tir.indexdiv(offset, width)
        y, rest = tir.indexmod(rest, height), tir.indexdiv(rest, height)
        return data(tir.indexdiv(rest, channels), tir.indexmod(rest, channels), y, x)

    made: te.Tensor = te.compute(out, element, name="reorg")
    return made
