"""Correlation of two feature maps around each pixel."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.broadcast import divide
from tvm.topi.common import compute, extents

from .pad import pad
from .utils import get_pad_tuple


@explained
def correlation_nchw(
    data1: te.Tensor, data2: te.Tensor, kernel_size: int, max_displacement: int, stride1: int,
    stride2: int, padding: Any, is_multiply: bool,
) -> te.Tensor:  # fmt: skip
    """The mean product (or distance) of patches of both maps, for each displacement.

    (n, c, h, w), (n, c, h, w) -> (n, displacements, oh, ow)   (P. Fischer et al., FlowNet, 2015)
    """
    batch, channels, height, width = extents(data1, "nchw", "correlation_nchw")
    if data2.ndim != data1.ndim or not all(bool(a == b) for a, b in zip(data1.shape, data2.shape)):
        raise ShapeError("correlation: the two maps have different shapes; legal: equal ones")
    top, left, down, right = get_pad_tuple(padding, (1, 1))
    radius = (kernel_size - 1) // 2
    border = max_displacement + radius
    reach = max_displacement // stride2
    side = 2 * reach + 1
    simplify = Analyzer().simplify
    rows, columns = (
        simplify(tir.indexdiv(n - 2 * border + stride1 - 1, stride1))
        for n in (height + top + down, width + left + right)
    )
    first, second = (
        pad(x, [0, 0, top, left], [0, 0, down, right], name="PadInput")
        for x in (data1, data2)
    )
    rc = te.reduce_axis((0, channels), name="rc")
    ry, rx = (te.reduce_axis((0, kernel_size), name=n) for n in ("ry", "rx"))

    def element(n: Any, q: Any, i: Any, j: Any) -> PrimExpr:
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        dy = (tir.indexdiv(q, side) - reach) * stride2
        dx = (tir.indexmod(q, side) - reach) * stride2
        a = first(n, rc, y + ry, x + rx)
        b = second(n, rc, y + dy + ry, x + dx + rx)
        total: PrimExpr = te.sum(a * b if is_multiply else te.abs(a - b), axis=[rc, ry, rx])
        return total

    total = compute((batch, side * side, rows, columns), element, tag="correlation_nchw")
    count = simplify(kernel_size * kernel_size * channels)
    mean: te.Tensor = divide(total, count.astype(total.dtype))
    return mean
