"""Two-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.support.arguments import explained

from .conv_transpose_nd import conv_transpose, spread_and_turned


@explained
def conv2d_transpose_nchw(
    Input: te.Tensor, Filter: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (c, o, kh, kw) -> (n, o, oh, ow)"""
    return declaration_conv2d_transpose_impl(
        Input, Filter, strides, padding, out_dtype, output_padding
    )


@explained
def conv2d_transpose_nchw_preprocess(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """The spread data and the mirrored kernel, whose plain convolution is the result."""
    return spread_and_turned(data, kernel, strides, padding, output_padding)


@explained
def declaration_conv2d_transpose_impl(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """The stages of conv2d_transpose_nchw."""
    tag = "conv2d_transpose_nchw"
    return conv_transpose(data, kernel, strides, padding, out_dtype, output_padding, 1, tag)


@explained
def group_conv2d_transpose_nchw(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, out_dtype: Any,
    output_padding: Any, groups: int,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (c, o / groups, kh, kw) -> (n, o, oh, ow)"""
    if groups == 1:
        return conv2d_transpose_nchw(data, kernel, stride, padding, out_dtype, output_padding)
    tag = "group_conv2d_transpose_nchw"
    return conv_transpose(
        data, kernel, stride, padding, out_dtype, output_padding, groups, tag
    )
