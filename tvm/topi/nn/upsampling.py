"""Pictures made larger by a factor."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.image.resize import resize2d, resize3d
from tvm.topi.utils import simplify


def _scaled(extent: Any, factor: Any) -> Any:
    """The extent times the factor, rounded to the nearest integer."""
    if not isinstance(extent, PrimExpr) or isinstance(extent, tir.IntImm):
        return round(int(extent) * factor)
    return simplify(te.round(extent.astype("float64") * factor).astype(extent.dtype))


@explained
def upsampling(
    data: te.Tensor, scale_h: Any, scale_w: Any, layout: str = "NCHW",
    method: str = "nearest_neighbor", align_corners: bool = False, output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """A picture `scale_h` times as high and `scale_w` times as wide."""
    first = 1 if layout[0:4] == "NHWC" else 2
    if layout[0:4] not in ("NCHW", "NHWC"):
        raise ValueError(f"not support this layout {layout} yet; legal: NCHW, NHWC, NCHWxc")
    if output_shape:
        size = list(output_shape[first : first + 2])
    else:
        size = [_scaled(data.shape[first], scale_h), _scaled(data.shape[first + 1], scale_w)]
    mode = "align_corners" if align_corners else "asymmetric"
    kind = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}
    return resize2d(
        data, (0.0, 0.0, 0.0, 0.0), size, layout, kind.get(method, method), mode,
        output_shape=output_shape,
    )  # fmt: skip


@explained
def upsampling3d(
    data: te.Tensor, scale_d: Any, scale_h: Any, scale_w: Any, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """A volume made larger by a factor in each dimension."""
    if layout[0:5] not in ("NCDHW", "NDHWC"):
        raise ValueError(f"not support this layout {layout} yet; legal: NCDHW, NDHWC")
    first = 2 if layout[0:5] == "NCDHW" else 1
    if output_shape:
        size = list(output_shape[first : first + 3])
    else:
        factors = (scale_d, scale_h, scale_w)
        size = [_scaled(e, f) for e, f in zip(data.shape[first : first + 3], factors)]
    kind = "linear" if method == "trilinear" else method
    return resize3d(data, (0.0,) * 6, size, layout, kind, coordinate_transformation_mode)
