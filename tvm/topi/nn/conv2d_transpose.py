"""Two-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.ir.expr import PrimExpr
from tvm.topi.common import compute

from .conv_nd import per_dimension
from .conv_transpose_nd import check_output_padding, conv_transpose, spread_data


def conv2d_transpose_nchw(
    Input: te.Tensor, Filter: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (c, o, kh, kw) -> (n, o, oh, ow)"""
    return declaration_conv2d_transpose_impl(
        Input, Filter, strides, padding, out_dtype, output_padding
    )


def conv2d_transpose_nchw_preprocess(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """The spread data and the mirrored kernel, whose plain convolution is the result."""
    steps = per_dimension(strides, 2, "strides")
    extra = per_dimension(output_padding, 2, "output_padding")
    check_output_padding(extra, steps)
    channels, filters, kh, kw = kernel.shape

    def mirrored(o: Any, i: Any, h: Any, w: Any) -> PrimExpr:
        return kernel(i, o, kh - 1 - h, kw - 1 - w)

    turned = compute((filters, channels, kh, kw), mirrored, name="kernel_transform")
    return spread_data(data, [kh, kw], steps, padding, extra), turned


def declaration_conv2d_transpose_impl(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """The stages of conv2d_transpose_nchw."""
    name = "conv2d_transpose_nchw"
    padded, turned = conv2d_transpose_nchw_preprocess(
        data, kernel, strides, padding, out_dtype, output_padding
    )
    batch, channels, height, width = padded.shape
    filters, _, kh, kw = turned.shape
    dtype = data.dtype if out_dtype is None else out_dtype
    dc = te.reduce_axis((0, channels), name="dc")
    dh, dw = te.reduce_axis((0, kh), name="dh"), te.reduce_axis((0, kw), name="dw")

    def element(b: Any, c: Any, h: Any, w: Any) -> PrimExpr:
        value = padded(b, dc, h + dh, w + dw).astype(dtype)
        result: PrimExpr = te.sum(value * turned(c, dc, dh, dw).astype(dtype), axis=[dc, dh, dw])
        return result

    shape = (batch, filters, height - kh + 1, width - kw + 1)
    return compute(shape, element, name=name, tag=name)


def group_conv2d_transpose_nchw(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, out_dtype: Any,
    output_padding: Any, groups: int,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (c, o / groups, kh, kw) -> (n, o, oh, ow)"""
    if groups == 1:
        return conv2d_transpose_nchw(data, kernel, stride, padding, out_dtype, output_padding)
    name = "group_conv2d_transpose_nchw"
    return conv_transpose(
        data, kernel, stride, padding, out_dtype, output_padding, groups, name, name
    )
