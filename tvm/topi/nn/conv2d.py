"""Two-dimensional convolution in its layouts."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.support.arguments import explained

from .conv2d_blocked import conv2d_NCHWc, conv2d_NCHWc_int8, unpack_NCHWc_to_nchw
from .conv2d_winograd import (
    conv2d_winograd_nchw,
    conv2d_winograd_nchw_without_weight_transform,
    conv2d_winograd_nhwc,
    conv2d_winograd_nhwc_without_weight_transform,
    conv2d_winograd_weight_transform,
)
from .conv_nd import conv

__all__ = [
    "conv", "conv2d", "conv2d_NCHWc", "conv2d_NCHWc_int8", "conv2d_hwcn", "conv2d_nchw",
    "conv2d_nhwc", "conv2d_winograd_nchw", "conv2d_winograd_nchw_without_weight_transform",
    "conv2d_winograd_nhwc", "conv2d_winograd_nhwc_without_weight_transform",
    "conv2d_winograd_weight_transform", "group_conv2d_nchw", "group_conv2d_nhwc",
    "unpack_NCHWc_to_nchw",
]  # fmt: skip


@explained
def conv2d(
    input: te.Tensor,
    filter: te.Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> te.Tensor:
    """Convolution in the given layouts."""
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


@explained
def conv2d_nchw(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (o, c, kh, kw) -> (n, o, oh, ow)"""
    return conv(Input, Filter, stride, padding, dilation, 1, "NCHW", "OIHW", out_dtype)


@explained
def conv2d_hwcn(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(h, w, c, n), (kh, kw, c, o) -> (oh, ow, o, n)"""
    return conv(Input, Filter, stride, padding, dilation, 1, "HWCN", "HWIO", out_dtype)


@explained
def conv2d_nhwc(
    Input: te.Tensor,
    Filter: te.Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:
    """(n, h, w, c), (kh, kw, c, o) -> (n, oh, ow, o); the layout of the kernel may be changed."""
    return conv(
        Input, Filter, stride, padding, dilation, 1, "NHWC", "HWIO", out_dtype,
        auto_scheduler_rewritten_layout, meta_schedule_original_shape,
        auto_scheduler_should_rewrite_layout=True,
    )  # fmt: skip


@explained
def group_conv2d_nchw(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any, groups: int,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (o, c / groups, kh, kw) -> (n, o, oh, ow)"""
    return conv(Input, Filter, stride, padding, dilation, groups, "NCHW", "OIHW", out_dtype)


@explained
def group_conv2d_nhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any, groups: int,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, c), (kh, kw, c / groups, o) -> (n, oh, ow, o)"""
    return conv(Input, Filter, stride, padding, dilation, groups, "NHWC", "HWIO", out_dtype)
