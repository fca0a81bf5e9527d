"""Three-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.ir.expr import PrimExpr
from tvm.topi.common import compute

from .conv_nd import per_dimension
from .conv_transpose_nd import check_output_padding, conv_transpose, spread_data


def conv3d_transpose_ncdhw(
    Input: te.Tensor, Filter: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """(n, c, d, h, w), (c, o, kd, kh, kw) -> (n, o, od, oh, ow)"""
    return declaration_conv3d_transpose_impl(
        Input, Filter, strides, padding, out_dtype, output_padding
    )


def conv3d_transpose_ncdhw_preprocess(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """The spread data and the mirrored kernel, whose plain convolution is the result."""
    steps = per_dimension(strides, 3, "strides")
    extra = per_dimension(output_padding, 3, "output_padding")
    check_output_padding(extra, steps)
    channels, filters, *windows = kernel.shape

    def mirrored(o: Any, i: Any, d: Any, h: Any, w: Any) -> PrimExpr:
        return kernel(i, o, *[k - 1 - x for k, x in zip(windows, (d, h, w))])

    turned = compute((filters, channels, *windows), mirrored, name="kernel_transform")
    return spread_data(data, windows, steps, padding, extra), turned


def declaration_conv3d_transpose_impl(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any,
) -> te.Tensor:  # fmt: skip
    """The stages of conv3d_transpose_ncdhw."""
    name = "conv3d_transpose_ncdhw"
    padded, turned = conv3d_transpose_ncdhw_preprocess(
        data, kernel, strides, padding, out_dtype, output_padding
    )
    filters, channels, *windows = turned.shape
    dtype = data.dtype if out_dtype is None else out_dtype
    dc = te.reduce_axis((0, channels), name="dc")
    taps = [te.reduce_axis((0, k), name=f"d{x}") for x, k in zip("dhw", windows)]

    def element(b: Any, c: Any, d: Any, h: Any, w: Any) -> PrimExpr:
        places = [x + tap for x, tap in zip((d, h, w), taps)]
        weight = turned(c, dc, *taps).astype(dtype)
        result: PrimExpr = te.sum(padded(b, dc, *places).astype(dtype) * weight, axis=[dc, *taps])
        return result

    outs = [extent - k + 1 for extent, k in zip(padded.shape[2:], windows)]
    return compute((padded.shape[0], filters, *outs), element, name=name, tag=name)


def group_conv3d_transpose_ncdhw(
    data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: Any,
    output_padding: Any, groups: int,
) -> te.Tensor:  # fmt: skip
    """(n, c, d, h, w), (c, o / groups, kd, kh, kw) -> (n, o, od, oh, ow)"""
    if groups == 1:
        return conv3d_transpose_ncdhw(data, kernel, strides, padding, out_dtype, output_padding)
    name = "group_conv3d_transpose_ncdhw"
    return conv_transpose(
        data, kernel, strides, padding, out_dtype, output_padding, groups, name, name
    )
