"""Three-dimensional convolution in its layouts, and the kernel transform of its Winograd form."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute, extents
from tvm.topi.utils import get_const_int

from .conv_nd import conv
from .winograd_util import winograd_transform_matrices


@explained
def conv3d_ncdhw(
    Input: te.Tensor, Filter: te.Tensor, stride: Any, padding: Any, dilation: Any, groups: int,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, d, h, w), (o, c / groups, kd, kh, kw) -> (n, o, od, oh, ow)"""
    return conv(Input, Filter, stride, padding, dilation, groups, "NCDHW", "OIDHW", out_dtype)


@explained
def conv3d_ndhwc(
    Input: te.Tensor,
    Filter: te.Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_origin_shape: Any = None,
) -> te.Tensor:
    """(n, d, h, w, c), (kd, kh, kw, c / groups, o) -> (n, od, oh, ow, o)"""
    return conv(
        Input, Filter, stride, padding, dilation, groups, "NDHWC", "DHWIO", out_dtype,
        auto_scheduler_rewritten_layout, meta_schedule_origin_shape,
    )  # fmt: skip


@explained
def conv3d_winograd_weight_transform(kernel: te.Tensor, tile_size: int) -> te.Tensor:
    """The kernel as Winograd's algorithm wants it, for tiles of `tile_size` outputs.

    Depth is transformed too if it is as long as height and width.
    (o, c, kd, kh, kw) -> (r, r, r or kd, o, c) with r = tile_size + kw - 1
    """
    co, ci, kd, _, kw = extents(kernel, "oidhw", "conv3d_winograd_weight_transform")
    depth, width = get_const_int(kd), get_const_int(kw)
    r = tile_size + width - 1
    _, _, matrix = winograd_transform_matrices(tile_size, width, kernel.dtype)
    whole = depth == width
    taps = [te.reduce_axis((0, width), name=n) for n in ("r_kd", "r_kh", "r_kw")]

    def element(*i: Any) -> PrimExpr:
        eps, nu, third, o, c = i
        _, kh, kw_ = taps
        if not whole:
            value = kernel(o, c, third, kh, kw_) * matrix(eps, kh) * matrix(nu, kw_)
            plain: PrimExpr = te.sum(value, axis=[kh, kw_])
            return plain
        tap = kernel(o, c, *taps)
        value = tap * matrix(eps, taps[0]) * matrix(nu, kh) * matrix(third, kw_)
        full: PrimExpr = te.sum(value, axis=taps)
        return full

    shape = (r, r, r if whole else kd, co, ci)
    return compute(shape, element, name="transform_weight")
