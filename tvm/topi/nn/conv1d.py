"""One-dimensional convolution in its layouts."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.support.arguments import explained

from .conv_nd import conv


@explained
def conv1d(
    data: te.Tensor,
    kernel: te.Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> te.Tensor:
    """Convolution along one axis, in the given layouts."""
    return conv(
        data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


@explained
def conv1d_nwc(
    data: te.Tensor, kernel: te.Tensor, strides: Any = 1, padding: Any = "VALID",
    dilation: Any = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, w, c), (k, c, o) -> (n, ow, o)"""
    return conv(data, kernel, strides, padding, dilation, 1, "NWC", "WIO", out_dtype)


@explained
def conv1d_ncw(
    data: te.Tensor, kernel: te.Tensor, strides: Any = 1, padding: Any = "VALID",
    dilation: Any = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, w), (o, c, k) -> (n, o, ow)"""
    return conv(data, kernel, strides, padding, dilation, 1, "NCW", "OIW", out_dtype)


@explained
def group_conv1d_nwc(
    data: te.Tensor, kernel: te.Tensor, strides: Any = 1, padding: Any = "VALID",
    dilation: Any = 1, groups: int = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, w, c), (k, c / groups, o) -> (n, ow, o)"""
    return conv(data, kernel, strides, padding, dilation, groups, "NWC", "WIO", out_dtype)


@explained
def group_conv1d_ncw(
    data: te.Tensor, kernel: te.Tensor, strides: Any = 1, padding: Any = "VALID",
    dilation: Any = 1, groups: int = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, w), (o, c / groups, k) -> (n, o, ow)"""
    return conv(data, kernel, strides, padding, dilation, groups, "NCW", "OIW", out_dtype)
