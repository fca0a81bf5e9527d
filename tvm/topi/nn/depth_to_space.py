"""Channels as blocks of space."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute, extents


@explained
def depth_to_space(
    data: te.Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> te.Tensor:
    """(n, c * b * b, h, w) -> (n, c, h * b, w * b)

    Among the channels of the source, DCR has the block before the channel, CDR (which ONNX
    calls CRD) after it.
    """
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"depth_to_space: layout {layout!r}; legal: 'NCHW', 'NHWC'")
    if mode not in ("DCR", "CDR", "CRD"):
        raise ValueError(f"depth_to_space: mode {mode!r}; legal: 'DCR', 'CDR', 'CRD'")
    first = layout == "NCHW"
    shape = extents(data, layout.lower(), "depth_to_space")
    n, c, h, w = shape if first else (shape[k] for k in (0, 3, 1, 2))
    channels = tir.truncdiv(c, block_size * block_size)

    def element_at(b: Any, channel: Any, y: Any, x: Any) -> PrimExpr:
        block = tir.truncmod(y, block_size) * block_size + tir.truncmod(x, block_size)
        if mode == "DCR":
            source = block * channels + channel
        else:
            source = channel * block_size * block_size + block
        row, column = tir.truncdiv(y, block_size), tir.truncdiv(x, block_size)
        return data(b, source, row, column) if first else data(b, row, column, source)

    def element(*i: Any) -> PrimExpr:
        return element_at(*i) if first else element_at(i[0], i[3], i[1], i[2])

    rows, columns = h * block_size, w * block_size
    out = (n, channels, rows, columns) if first else (n, rows, columns, channels)
    return compute(out, element, name="depth_to_space", tag=tag.INJECTIVE)
