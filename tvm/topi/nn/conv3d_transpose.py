"""Three-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.support.arguments import explained

from .conv_transpose_nd import conv_transpose, spread_and_turned


@explained
def conv3d_transpose_ncdhw(
    Input: te.Tensor, Filter: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """(n, c, d, h, w), (c, o, kd, kh, kw) -> (n, o, od, oh, ow)"""
    return declaration_conv3d_transpose_impl(
        Input, Filter, strides, padding, out_dtype, output_padding
    )


@explained
def conv3d_transpose_ncdhw_preprocess(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """The spread data and the mirrored kernel, whose plain convolution is the result."""
    return spread_and_turned(data, kernel, strides, padding, output_padding)


@explained
def declaration_conv3d_transpose_impl(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """The stages of conv3d_transpose_ncdhw."""
    tag = "conv3d_transpose_ncdhw"
    return conv_transpose(data, kernel, strides, padding, out_dtype, output_padding, 1, tag)


@explained
def group_conv3d_transpose_ncdhw(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any, groups: int,
) -> te.Tensor:  # fmt: skip
    """(n, c, d, h, w), (c, o / groups, kd, kh, kw) -> (n, o, od, oh, ow)"""
    if groups == 1:
        return conv3d_transpose_ncdhw(data, kernel, strides, padding, out_dtype, output_padding)
    tag = "group_conv3d_transpose_ncdhw"
    return conv_transpose(
        data, kernel, strides, padding, out_dtype, output_padding, groups, tag
    )
