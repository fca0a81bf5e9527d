"""Convolution whose taps are moved by offsets (J. Dai et al., Deformable Convolutional Networks,
2017)."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import check_same, compute, extents

from .conv_nd import per_dimension
from .utils import get_pad_tuple


def _deformable(
    data: te.Tensor, offset: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any,
    dilation: Any, deformable_groups: int, groups: int, out_dtype: Any, last: bool,
) -> te.Tensor:  # fmt: skip
    dtype = data.dtype if out_dtype is None else out_dtype
    (sh, sw), (dh, dw) = (
        per_dimension(strides, 2, "strides"),
        per_dimension(dilation, 2, "dilation"),
    )
    layout = "nhwc" if last else "nchw"
    what = f"deformable_conv2d_{layout}"
    order = (0, 3, 1, 2) if last else (0, 1, 2, 3)
    shapes = [extents(t, layout, what) for t in (data, offset)]
    taps = extents(kernel, "hwio" if last else "oihw", what)
    batch, channels, height, width = (shapes[0][k] for k in order)
    filters, own, kh, kw = (taps[k] for k in ((3, 2, 0, 1) if last else (0, 1, 2, 3)))
    images, moves, rows, columns = (shapes[1][k] for k in order)
    simplify = Analyzer().simplify
    check_same(what, "pictures and offsets", batch, images)
    check_same(what, "channels of the offsets", moves, simplify(kh * kw * (2 * deformable_groups)))
    check_same(what, "channels of data and kernel", channels, simplify(own * groups))
    check_same(
        what, "filters and a multiple of the groups", filters,
        simplify(tir.indexdiv(filters, groups) * groups),
    )  # fmt: skip
    top, left, _, _ = get_pad_tuple(
        padding, (simplify((kh - 1) * dh + 1), simplify((kw - 1) * dw + 1))
    )
    per_deformable = simplify(tir.indexdiv(channels, deformable_groups))
    if last and groups != 1:
        raise ShapeError(f"deformable_conv2d_nhwc: {groups} groups; legal: 1")

    def load(n: Any, c: Any, y: PrimExpr, x: PrimExpr) -> PrimExpr:
        """The data between elements; zero outside, and wholly before the first row or column."""
        y0, x0 = tir.floor(y), tir.floor(x)
        total: PrimExpr = tir.const(0, data.dtype)
        for i in (0, 1):
            for j in (0, 1):
                yy, xx = y0.astype("int32") + i, x0.astype("int32") + j
                weight = (y - y0 if i else 1.0 - (y - y0)) * (x - x0 if j else 1.0 - (x - x0))
                inside = tir.all(yy >= 0, yy < height, xx >= 0, xx < width)
                at = data(n, yy, xx, c) if last else data(n, c, yy, xx)
                zero = tir.const(0, data.dtype)
                total = total + tir.if_then_else(inside, at, zero) * weight.astype(data.dtype)
        nothing = tir.const(0, data.dtype)
        return tir.if_then_else(tir.all(y >= 0.0, x >= 0.0), total, nothing)

    def moved(n: Any, i: Any, j: Any, c: Any, y: Any, x: Any) -> PrimExpr:
        group = tir.indexdiv(c, per_deformable)
        tap = group * (kh * kw * 2) + (i * kw + j) * 2
        offsets = [offset(n, y, x, tap + k) if last else offset(n, tap + k, y, x) for k in (0, 1)]
        coords = [
            (o * s - p + t * d).astype("float32") + off.astype("float32")
            for o, s, p, t, d, off in zip((y, x), (sh, sw), (top, left), (i, j), (dh, dw), offsets)
        ]
        return load(n, c, *coords)

    shape = (batch, kh, kw, channels, rows, columns)
    deformed = compute(shape, moved, name="data_deform", tag="data_deform")
    rc = te.reduce_axis((0, own), name="rc")
    ry, rx = te.reduce_axis((0, kh), name="ry"), te.reduce_axis((0, kw), name="rx")

    def at(n: Any, f: Any, y: Any, x: Any) -> PrimExpr:
        channel = tir.indexdiv(f, tir.indexdiv(filters, groups)) * own + rc if groups > 1 else rc
        weight = kernel(ry, rx, rc, f) if last else kernel(f, rc, ry, rx)
        value = deformed(n, ry, rx, channel, y, x).astype(dtype) * weight.astype(dtype)
        total: PrimExpr = te.sum(value, axis=[rc, ry, rx])
        return total

    if last:
        name = "deformable_conv2d_nhwc"
        out = (batch, rows, columns, filters)
        return compute(out, lambda n, y, x, f: at(n, f, y, x), name=name, tag=name)
    name = "deformable_conv2d_nchw"
    return compute((batch, filters, rows, columns), at, name=name, tag=name)


@explained
def deformable_conv2d_nchw(
    data: te.Tensor, offset: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any,
    dilation: Any, deformable_groups: int, groups: int, out_dtype: Any,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (n, g * kh * kw * 2, oh, ow), (o, c / groups, kh, kw) -> (n, o, oh, ow)"""
    return _deformable(
        data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype,
        last=False,
    )  # fmt: skip


@explained
def deformable_conv2d_nhwc(
    data: te.Tensor, offset: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any,
    dilation: Any, deformable_groups: int, groups: int, out_dtype: Any,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, c), (n, oh, ow, g * kh * kw * 2), (kh, kw, c, o) -> (n, oh, ow, o)"""
    return _deformable(
        data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype,
        last=True,
    )  # fmt: skip
