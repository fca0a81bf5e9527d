"""Depthwise convolution: each channel with kernels of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import check_same, compute, extents
from tvm.topi.utils import simplify

from .conv_nd import per_dimension
from .dilate import dilate
from .pad import pad
from .utils import get_pad_tuple


def _out(size: Any, kernel: Any, before: Any, after: Any, stride: Any) -> Any:
    return Analyzer().simplify(tir.indexdiv(size - kernel + before + after, stride) + 1)


def _spread(kernel: Any, dilation: int) -> Any:
    return simplify((kernel - 1) * dilation + 1)


@explained
def depthwise_conv2d_nchw(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (c, m, kh, kw) -> (n, c * m, oh, ow)"""
    dtype = Input.dtype if out_dtype is None else out_dtype
    (sh, sw), (dh, dw) = per_dimension(stride, 2, "strides"), per_dimension(dilation, 2, "dilation")
    batch, channels, height, width = extents(Input, "nchw", "depthwise_conv2d_nchw")
    own, times, kh, kw = extents(Filter, "cmhw", "depthwise_conv2d_nchw")
    check_same("depthwise_conv2d_nchw", "channels of data and kernel", channels, own)
    wide = (_spread(kh, dh), _spread(kw, dw))
    top, left, down, right = get_pad_tuple(padding, wide)
    padded = pad(Input, [0, 0, top, left], [0, 0, down, right], name="PaddedInput")
    di, dj = te.reduce_axis((0, kh), name="di"), te.reduce_axis((0, kw), name="dj")

    def element(b: Any, c: Any, i: Any, j: Any) -> PrimExpr:
        source, own = tir.indexdiv(c, times), tir.indexmod(c, times)
        value = padded(b, source, i * sh + di * dh, j * sw + dj * dw).astype(dtype)
        result: PrimExpr = te.sum(value * Filter(source, own, di, dj).astype(dtype), axis=[di, dj])
        return result

    shape = (batch, channels * times, _out(height, wide[0], top, down, sh),
             _out(width, wide[1], left, right, sw))  # fmt: skip
    return compute(shape, element, name="DepthwiseConv2d", tag="depthwise_conv2d_nchw")


@explained
def depthwise_conv2d_nhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any,
    kernel_layout: str = "HWOI", out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, c), (kh, kw, c, m) -> (n, oh, ow, c * m); HWIO exchanges the last two."""
    dtype = Input.dtype if out_dtype is None else out_dtype
    (sh, sw), (dh, dw) = per_dimension(stride, 2, "strides"), per_dimension(dilation, 2, "dilation")
    batch, height, width, channels = extents(Input, "nhwc", "depthwise_conv2d_nhwc")
    swapped = kernel_layout == "HWIO"
    kh, kw, first, second = extents(Filter, kernel_layout.lower(), "depthwise_conv2d_nhwc")
    own, times = (second, first) if swapped else (first, second)
    check_same("depthwise_conv2d_nhwc", "channels of data and kernel", channels, own)
    wide = (_spread(kh, dh), _spread(kw, dw))
    top, left, down, right = get_pad_tuple(padding, wide)
    padded = pad(Input, [0, top, left, 0], [0, down, right, 0], name="PaddedInput")
    di, dj = te.reduce_axis((0, kh), name="di"), te.reduce_axis((0, kw), name="dj")

    def element(b: Any, i: Any, j: Any, c: Any) -> PrimExpr:
        source, own = tir.indexdiv(c, times), tir.indexmod(c, times)
        value = padded(b, i * sh + di * dh, j * sw + dj * dw, source).astype(dtype)
        coords = (di, dj, own, source) if swapped else (di, dj, source, own)
        result: PrimExpr = te.sum(value * Filter(*coords).astype(dtype), axis=[di, dj])
        return result

    shape = (batch, _out(height, wide[0], top, down, sh), _out(width, wide[1], left, right, sw),
             channels * times)  # fmt: skip
    return compute(shape, element, name="DepthwiseConv2d", tag="depthwise_conv2d_nhwc")


def _four(shape: Sequence[Any], what: str) -> Sequence[Any]:
    if len(shape) == 4:
        return shape
    raise ShapeError(message(what, found=f"{len(shape)} extents", legal="four"))


@explained
def depthwise_conv2d_backward_input_nhwc(
    Filter: te.Tensor, Out_grad: te.Tensor, oshape: Sequence[Any], ishape: Sequence[Any],
    stride: Any, padding: Any,
) -> te.Tensor:  # fmt: skip
    """The gradient of the data.   (kh, kw, c, m), (n, oh, ow, c * m) -> (n, h, w, c)"""
    what = "depthwise_conv2d_backward_input_nhwc"
    batch, height, width, channels = _four(ishape, f"{what}: ishape")
    kh, kw, own, times = extents(Filter, "hwcm", what)
    check_same(what, "channels of data and kernel", channels, own)
    for given, wanted in zip(extents(Out_grad, "nhwc", what), oshape):
        check_same(what, "extents of the gradient and oshape", given, wanted)
    sh, sw = per_dimension(stride, 2, "strides")
    spread = dilate(Out_grad, [1, sh, sw, 1], name="dilated_out_grad")
    top, left, down, right = get_pad_tuple(padding, (kh, kw))
    before = [kh - 1 - top, kw - 1 - left]
    # where the strides did not reach the end of the data, zeros are missing after it
    _, oh, ow, _ = oshape
    missing_h = height + top + down - kh - (oh - 1) * sh
    missing_w = width + left + right - kw - (ow - 1) * sw
    padded = pad(
        spread, [0, *before, 0], [0, kh - 1 - down + missing_h, kw - 1 - right + missing_w, 0],
        name="padded_out_grad",
    )  # fmt: skip
    dh, dw = te.reduce_axis((0, kh), name="dh"), te.reduce_axis((0, kw), name="dw")
    dc = te.reduce_axis((0, times), name="dc")

    def element(b: Any, h: Any, w: Any, c: Any) -> PrimExpr:
        grad = padded(b, h + dh, w + dw, c * times + dc)
        result: PrimExpr = te.sum(grad * Filter(kh - 1 - dh, kw - 1 - dw, c, dc), axis=[dh, dw, dc])
        return result

    return compute(
        (batch, height, width, channels), element, name="depthwise_conv2d_backward_input_nhwc",
        tag="depthwise_conv2d_backward_input_nhwc",
    )  # fmt: skip


@explained
def depthwise_conv2d_backward_weight_nhwc(
    Input: te.Tensor, Out_grad: te.Tensor, oshape: Sequence[Any], fshape: Sequence[Any],
    stride: Any, padding: Any,
) -> te.Tensor:  # fmt: skip
    """The gradient of the kernel.   (n, h, w, c), (n, oh, ow, c * m) -> (kh, kw, c, m)"""
    what = "depthwise_conv2d_backward_weight_nhwc"
    batch, *_ = _four(oshape, f"{what}: oshape")
    kh, kw, channels, times = _four(fshape, f"{what}: fshape")
    for given, wanted in zip(extents(Out_grad, "nhwc", what), oshape):
        check_same(what, "extents of the gradient and oshape", given, wanted)
    check_same(what, "channels of data and kernel", extents(Input, "nhwc", what)[3], channels)
    sh, sw = per_dimension(stride, 2, "strides")
    top, left, down, right = get_pad_tuple(padding, (kh, kw))
    padded = pad(Input, [0, top, left, 0], [0, down, right, 0], name="padded_in")
    dh = te.reduce_axis((0, Out_grad.shape[1]), name="dh")
    dw = te.reduce_axis((0, Out_grad.shape[2]), name="dw")
    db = te.reduce_axis((0, batch), name="db")

    def element(h: Any, w: Any, c: Any, m: Any) -> PrimExpr:
        grad = Out_grad(db, dh, dw, c * times + tir.indexmod(m, times))
        result: PrimExpr = te.sum(grad * padded(db, h + dh * sh, w + dw * sw, c), axis=[db, dh, dw])
        return result

    return compute(
        (kh, kw, channels, times), element, name="depthwise_conv2d_backward_weight_nhwc",
        tag="depthwise_conv2d_backward_weight_nhwc",
    )  # fmt: skip


@explained
def depthwise_conv2d_NCHWc(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any, layout: str,
    out_layout: str, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c / b, h, w, b), (c * m / d, 1, kh, kw, 1, d) -> (n, c * m / d, oh, ow, d)"""
    dtype = Input.dtype if out_dtype is None else out_dtype
    (sh, sw), (dh, dw) = per_dimension(stride, 2, "strides"), per_dimension(dilation, 2, "dilation")
    batch, chunks, height, width, block = extents(Input, "nchwb", "depthwise_conv2d_NCHWc")
    out_chunks, _, kh, kw, _, out_block = extents(Filter, "cihwjb", "depthwise_conv2d_NCHWc")
    wide = (_spread(kh, dh), _spread(kw, dw))
    top, left, down, right = get_pad_tuple(padding, wide)
    padded = pad(Input, [0, 0, top, left, 0], [0, 0, down, right, 0], name="PaddedInput")
    channels, filters = chunks * block, out_chunks * out_block
    check_same(
        "depthwise_conv2d_NCHWc", "filters and a multiple of the channels", filters,
        simplify(tir.indexdiv(filters, channels) * channels),
    )  # fmt: skip
    times = tir.indexdiv(filters, channels)
    i, j = te.reduce_axis((0, kh), name="kh"), te.reduce_axis((0, kw), name="kw")
    assert re.findall(r"\d+", layout), f"{layout} has channels in blocks"

    def element(b: Any, oc: Any, y: Any, x: Any, inner: Any) -> PrimExpr:
        channel = tir.indexdiv(oc * out_block + inner, times)
        value = padded(
            b, tir.indexdiv(channel, block), y * sh + i * dh, x * sw + j * dw,
            tir.indexmod(channel, block),
        ).astype(dtype)  # fmt: skip
        result: PrimExpr = te.sum(value * Filter(oc, 0, i, j, 0, inner).astype(dtype), axis=[i, j])
        return result

    shape = (batch, out_chunks, _out(height, wide[0], top, down, sh),
             _out(width, wide[1], left, right, sw), out_block)  # fmt: skip
    return compute(shape, element, name="DepthwiseConv2d", tag="depthwise_conv2d_NCHWc")
