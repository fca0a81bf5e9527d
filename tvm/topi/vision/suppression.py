"""Non-maximum suppression of the boxes that `get_valid_counts` moved to the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import extents
from tvm.topi.loops import grid, load, local, loop, parallel, sequence, store, when
from tvm.topi.sort import argsort

from .nms_util import overlap


@explained
def non_max_suppression(
    data: te.Tensor, valid_count: te.Tensor, indices: te.Tensor, max_output_size: Any = -1,
    iou_threshold: Any = 0.5, force_suppress: bool = False, top_k: int = -1, coord_start: int = 2,
    score_index: int = 1, id_index: int = 0, return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> list[te.Tensor]:  # fmt: skip
    """Boxes by falling score, without those that overlap a better one (of their class).

    data (b, n, k), valid_count (b,), indices (b, n)  ->  the indices of those that stay (b, n) and
    how many they are (b, 1); or, without `return_indices`, the boxes (b, n, k), the others as -1.
    """
    batch, count, width = extents(data, "bnk", "non_max_suppression")
    scores = te.compute((batch, count), lambda b, i: data[b, i, score_index], name="scores")
    order = argsort(scores, valid_count, axis=1, is_ascend=0, dtype="int32")
    inputs = [data, valid_count, indices, order]
    given = [t for t in (max_output_size, iou_threshold) if isinstance(t, te.Tensor)]
    inputs += given

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        source, valid, indices, ranks = ins[:4]
        rest = list(ins[4:])
        most, limit = (
            load(rest.pop(0), *[0] * len(v.shape)) if isinstance(v, te.Tensor)
            else tir.const(v, kind)
            for v, kind in ((max_output_size, "int32"), (iou_threshold, str(data.dtype)))
        )  # fmt: skip
        boxes, chosen, counts = outs

        def image(b: PrimExpr) -> tir.Stmt:
            total = load(valid, b)
            best = tir.min(total, tir.const(top_k, "int32"))
            kept = tir.Select(limit > 0, best, total) if top_k > 0 else total

            def copy(i: PrimExpr) -> tir.Stmt:
                index = load(ranks, b, i)
                return sequence(
                    grid((width,), lambda k: store(boxes, load(source, b, index, k), b, i, k), "k"),
                    store(chosen, index, b, i),
                )

            clear = sequence(
                grid((count, width), lambda i, k: store(boxes, -1, b, i, k), "z"),
                grid((count,), lambda i: store(chosen, -1, b, i), "z"),
                store(counts, 0, b, 0),
            )
            ordered = loop(kept, copy, "i")

            def drop(i: PrimExpr) -> tir.Stmt:
                return sequence(
                    grid((width,), lambda k: store(boxes, -1, b, i, k), "z"),
                    store(chosen, -1, b, i),
                )

            def meets(i: PrimExpr, k: PrimExpr) -> PrimExpr:
                same = [load(boxes, b, k, score_index) > 0]
                if id_index >= 0:
                    same.append(load(boxes, b, k, id_index) >= 0)
                    if not force_suppress:
                        same.append(
                            load(boxes, b, i, id_index).equal(load(boxes, b, k, id_index))
                        )

                def corner(index: PrimExpr) -> PrimExpr:
                    row, side = tir.indexdiv(index, 4), tir.indexmod(index, 4)
                    return load(boxes, b, row, side + coord_start)

                same.append(overlap(corner, i * 4, k * 4) >= limit)
                return tir.all(*same)

            def box(i: PrimExpr) -> tir.Stmt:
                def decide(free: tir.Buffer) -> tir.Stmt:
                    look = loop(i, lambda k: when(meets(i, k), store(free, 0, 0)), "k")
                    keep = store(counts, load(counts, b, 0) + 1, b, 0)
                    full = tir.all(most >= 0, load(counts, b, 0) >= most)
                    good = load(boxes, b, i, score_index) > 0
                    choose = when(load(free, 0) > 0, keep, drop(i))
                    tested = sequence(store(free, 1, 0), look, choose)
                    return when(full, drop(i), when(good, tested, drop(i)))

                return local("int32", decide, 1, "free")

            greedy = when(limit > 0, loop(kept, box, "i"), store(counts, kept, b, 0))
            return sequence(clear, ordered, greedy, _finish(b))

        def _finish(b: PrimExpr) -> tir.Stmt:
            if return_indices:
                return _front(b, lambda i: load(indices, b, load(chosen, b, i)), width=0)
            return _front(b, None, width) if invalid_to_bottom else tir.Evaluate(0)

        def _front(b: PrimExpr, index: Any, width: Any) -> tir.Stmt:
            """Move what stays to the front."""

            def moves(goal: tir.Buffer) -> tir.Stmt:
                def move(i: PrimExpr) -> tir.Stmt:
                    to = load(goal, 0)
                    row: list[tir.Stmt | None] = []
                    if index is not None:
                        row = [store(chosen, index(i), b, to)]
                    else:
                        row = [
                            grid((width,), lambda k: store(boxes, load(boxes, b, i, k), b, to, k)),
                            store(chosen, load(chosen, b, i), b, to),
                        ]
                    clear = when(
                        i > to,
                        sequence(
                            store(chosen, -1, b, i),
                            None if index is not None
                            else grid((width,), lambda k: store(boxes, -1, b, i, k)),
                        ),
                    )
                    step = sequence(*row, clear, store(goal, to + 1, 0))
                    return when(load(chosen, b, i) >= 0, step)

                return sequence(store(goal, 0, 0), loop(count, move, "i"))

            return local("int32", moves, 1, "goal")

        return parallel(batch, image, "b")

    shapes = [(batch, count, width), (batch, count), (batch, 1)]
    kinds = [str(data.dtype), "int32", "int32"]
    names = ["out_boxes", "box_indices", "valid_box_count"]
    boxes, chosen, counts = te.extern(
        shapes, inputs, body, dtype=kinds,
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, d, n) for s, d, n in zip(shapes, kinds, names)],
        name="non_max_suppression", tag="non_max_suppression",
    )  # fmt: skip
    return [chosen, counts] if return_indices else [boxes]
