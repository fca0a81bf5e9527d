"""Blocks of space as channels."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute, extents


@explained
def space_to_depth(data: te.Tensor, block_size: int, layout: str = "NCHW") -> te.Tensor:
    """(n, c, h, w) -> (n, c * b * b, h / b, w / b)"""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"space_to_depth: layout {layout!r}; legal: 'NCHW', 'NHWC'")
    first = layout == "NCHW"
    shape = extents(data, layout.lower(), "space_to_depth")
    n, c, h, w = shape if first else (shape[k] for k in (0, 3, 1, 2))

    def element_at(b: Any, channel: Any, y: Any, x: Any) -> PrimExpr:
        block, own = tir.truncdiv(channel, c), tir.truncmod(channel, c)
        row = y * block_size + tir.truncdiv(block, block_size)
        column = x * block_size + tir.truncmod(block, block_size)
        return data(b, own, row, column) if first else data(b, row, column, own)

    def element(*i: Any) -> PrimExpr:
        return element_at(*i) if first else element_at(i[0], i[3], i[1], i[2])

    rows, columns = tir.truncdiv(h, block_size), tir.truncdiv(w, block_size)
    channels = c * block_size * block_size
    out = (n, channels, rows, columns) if first else (n, rows, columns, channels)
    return compute(out, element, name="space_to_depth", tag=tag.INJECTIVE)
