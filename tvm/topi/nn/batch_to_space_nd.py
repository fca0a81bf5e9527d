"""Batches as blocks of space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import stage


@explained
def batch_to_space_nd(
    data: te.Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> te.Tensor:  # fmt: skip
    """(n * bh * bw, h, w, ...) -> (n, h * bh, w * bw, ...), then cropped."""
    blocks = [int(b) for b in block_shape]
    count, total = len(blocks), 1
    for b in blocks:
        total *= b
    batch = Analyzer().simplify(tir.indexdiv(data.shape[0], total))
    outs = [
        Analyzer().simplify(extent * b - int(low) - int(high))
        for extent, b, low, high in zip(data.shape[1:], blocks, crop_begin_list, crop_end_list)
    ]

    def element(*i: Any) -> PrimExpr:
        block: Any = 0
        coords = []
        for k in range(count):
            whole = i[1 + k] + int(crop_begin_list[k])
            block = block * blocks[k] + tir.indexmod(whole, blocks[k])
            coords.append(tir.indexdiv(whole, blocks[k]))
        return data(block * batch + i[0], *coords, *i[1 + count :])

    shape = [batch, *outs, *data.shape[1 + count :]]
    return stage(shape, element, "batch_to_space_nd", tag.INJECTIVE)
