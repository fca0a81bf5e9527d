"""Blocks of space as batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import stage

from .pad import padded


@explained
def space_to_batch_nd(
    data: te.Tensor, block_shape: Sequence[int], pad_before: Sequence[int],
    pad_after: Sequence[int], pad_value: Any = 0.0,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, ...) -> (n * bh * bw, h / bh, w / bw, ...), the space padded first."""
    count = len(block_shape)
    rest = [0] * (data.ndim - 1 - count)
    value = pad_value if isinstance(pad_value, PrimExpr) else tir.const(pad_value, data.dtype)
    names = [f"ax{i}" for i in range(data.ndim)]
    source = padded(data, [0, *pad_before, *rest], [0, *pad_after, *rest], value, "PadInput", names)
    batch = source.shape[0]
    blocks = [int(b) for b in block_shape]
    total = 1
    for b in blocks:
        total *= b
    for axis, (extent, b) in enumerate(zip(source.shape[1:], blocks), 1):
        if isinstance(extent, tir.IntImm) and int(extent) % b:
            raise ShapeError(
                f"space_to_batch_nd: extent {int(extent)} of axis {axis}, padded, does not make "
                f"blocks of {b}; legal: a multiple"
            )
    outs = [tir.indexdiv(s, b) for s, b in zip(source.shape[1:], blocks)]

    def element(*i: Any) -> PrimExpr:
        block, own = tir.indexdiv(i[0], batch), tir.indexmod(i[0], batch)
        coords = []
        for k in range(count - 1, -1, -1):
            coords.append(i[1 + k] * blocks[k] + tir.indexmod(block, blocks[k]))
            block = tir.indexdiv(block, blocks[k])
        return source(own, *reversed(coords), *i[1 + count :])

    shape = [batch * total, *outs, *source.shape[1 + count :]]
    return stage(shape, element, "space_to_batch_nd", tag.INJECTIVE)
