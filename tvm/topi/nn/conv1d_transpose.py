"""One-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.support.arguments import explained

from .conv_transpose_nd import conv_transpose


@explained
def conv1d_transpose_ncw(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """(n, c, w), (c, o, k) -> (n, o, ow)"""
    return group_conv1d_transpose_ncw(
        data, kernel, stride, padding, out_dtype, output_padding, 1
    )


@explained
def group_conv1d_transpose_ncw(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, out_dtype: Any,
    output_padding: Any, groups: int,
) -> te.Tensor:  # fmt: skip
    """(n, c, w), (c, o / groups, k) -> (n, o, ow)"""
    tag = "conv1d_transpose_ncw" if groups == 1 else "group_conv1d_transpose_ncw"
    return conv_transpose(
        data, kernel, stride, padding, out_dtype, output_padding, groups, tag, "kernel"
    )
