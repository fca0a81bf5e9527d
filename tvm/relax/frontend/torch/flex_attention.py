"""Attention whose scores and mask are functions of the places of each score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .attention import scaled_dot_product_attention
from .registry import functions
from .values import Expr, cast, dtype_of, length, rank, scalar, sizes, tensor_of

# `change(score, batch, head, row, column)` and `keep(batch, head, row, column)`; None for none
Change: TypeAlias = "Callable[[Sequence[Expr]], Any] | None"


def flex_attention(
    bb: BlockBuilder, query: Expr, key: Expr, value: Expr, change: Change, keep: Change,
    scale: float | None,
) -> Any:  # fmt: skip
    """The result; logarithms of the sums of exponentials; the largest scores.

    (batch, heads, rows, width), two of (batch, heads / groups, columns, width)
    """
    groups = length(query, 1, "flex_attention: query") // length(key, 1, "flex_attention: key")
    if groups > 1:
        key, value = (bb.emit(op.repeat(x, groups, 1)) for x in (key, value))
    kept: list[Expr] = []

    def scores() -> Expr:
        if not kept:
            kept.append(_scores(bb, query, key, change, keep, scale))
        return kept[0]

    if change is None and keep is None:
        made: Any = scaled_dot_product_attention(bb, query, key, value, scale=scale)
    else:
        # a row without any column gives zeros
        shares = bb.emit(functions()["_safe_softmax"](bb, scores(), -1, None))
        made = bb.emit(op.matmul(cast(bb, shares, dtype_of(value)), value))
    return made, lambda: _log_sums(bb, scores()), lambda: op.max(scores(), -1)


def _scores(
    bb: BlockBuilder, query: Expr, key: Expr, change: Change, keep: Change, scale: float | None
) -> Expr:
    turned = bb.emit(op.permute_dims(key, [0, 1, 3, 2]))
    made: Any = cast(bb, bb.emit(op.matmul(query, turned)), "float32")
    if scale is None:
        factor: Any = op.rsqrt(tensor_of(bb, sizes(query)[-1], "float32"))
    else:
        factor = scalar(scale, "float32")
    made = bb.emit(op.multiply(made, factor))
    places = [_places(bb, extent, axis) for axis, extent in enumerate(sizes(made))]
    if change is not None:
        made = bb.emit(cast(bb, change([made, *places]), "float32"))
    if keep is not None:
        made = bb.emit(op.where(keep(places), made, scalar(-math.inf, "float32")))
    found: Expr = made
    return found


def _places(bb: BlockBuilder, extent: Any, axis: int) -> Expr:
    """0, 1, ... along one of four axes."""
    row = bb.emit(op.arange(0, extent, 1, "int32"))
    return bb.emit(op.reshape(row, [extent if one == axis else 1 for one in range(4)]))


def _log_sums(bb: BlockBuilder, scores: Expr) -> Any:
    largest = bb.emit(op.max(scores, -1, True))
    total = op.log(op.sum(op.exp(op.subtract(scores, largest)), -1))
    return op.add(total, op.squeeze(largest, [rank(scores) - 1]))
