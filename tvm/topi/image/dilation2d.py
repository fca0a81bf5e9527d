"""Morphological dilation: the largest of picture plus kernel over windows; zeros around it."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import check_same, compute, extents
from tvm.topi.nn.conv_nd import per_dimension
from tvm.topi.nn.pad import pad
from tvm.topi.nn.utils import get_pad_tuple


def _dilation(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: Any,
    padding: Any,
    dilations: Any,
    out_dtype: str | None,
    channels_last: bool,
) -> te.Tensor:
    dtype = data.dtype if out_dtype is None else out_dtype
    sh, sw = per_dimension(stride, 2, "strides")
    dh, dw = per_dimension(dilations, 2, "dilations")
    name = "dilation2d_nhwc" if channels_last else "dilation2d_nchw"
    order = (0, 3, 1, 2) if channels_last else (0, 1, 2, 3)
    shape = extents(data, name[-4:], name)
    batch, channels, height, width = (shape[k] for k in order)
    taps = extents(kernel, "hwc" if channels_last else "chw", name)
    own, kh, kw = (taps[2], *taps[:2]) if channels_last else taps
    check_same(name, "channels of data and kernel", channels, own)
    simplify = Analyzer().simplify
    wide_h, wide_w = simplify((kh - 1) * dh + 1), simplify((kw - 1) * dw + 1)
    top, left, down, right = get_pad_tuple(padding, (wide_h, wide_w))
    before = [0, top, left, 0] if channels_last else [0, 0, top, left]
    after = [0, down, right, 0] if channels_last else [0, 0, down, right]
    source = pad(data, before, after, name="padded_input" if channels_last else "pad_temp")
    out_h = simplify((height - wide_h + top + down) // sh + 1)
    out_w = simplify((width - wide_w + left + right) // sw + 1)
    ry, rx = te.reduce_axis((0, kh), name="ry"), te.reduce_axis((0, kw), name="rx")

    def at(n: Any, c: Any, y: Any, x: Any) -> PrimExpr:
        row, column = y * sh + ry * dh, x * sw + rx * dw
        value = source(n, row, column, c) if channels_last else source(n, c, row, column)
        tap = kernel(ry, rx, c) if channels_last else kernel(c, ry, rx)
        largest: PrimExpr = te.max(value.astype(dtype) + tap.astype(dtype), axis=[ry, rx])
        return largest

    if channels_last:
        shape = (batch, out_h, out_w, channels)
        return compute(shape, lambda nn, yy, xx, ff: at(nn, ff, yy, xx), tag="dilation2d_nhcw")
    shape = (batch, channels, out_h, out_w)
    return compute(shape, lambda nn, ff, yy, xx: at(nn, ff, yy, xx), tag=name)


@explained
def dilation2d_nchw(
    input: te.Tensor, filter: te.Tensor, stride: Any, padding: Any, dilations: Any,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (c, kh, kw) -> (n, c, oh, ow)"""
    return _dilation(input, filter, stride, padding, dilations, out_dtype, False)


@explained
def dilation2d_nhwc(
    input: te.Tensor, filter: te.Tensor, stride: Any, padding: Any, dilations: Any,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, c), (kh, kw, c) -> (n, oh, ow, c)"""
    return _dilation(input, filter, stride, padding, dilations, out_dtype, True)
