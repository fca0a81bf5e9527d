"""Images: resizing, grids, dilation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.ir.type import Type
from tvm.relay.expr import Call, Constant
from tvm.relay.op.declare import (
    ATTRS_CLASSES,
    INJECTIVE,
    OUT_FUSABLE,
    Expr,
    Lower,
    Relate,
    constant_ints,
    dynamic,
    is_open,
    relay_op,
    te,
    topi,
)
from tvm.relay.op.nn.utils import get_pad_tuple2d
from tvm.relay.op.relations import tensor
from tvm.relay.ty import TensorType


def _resize(func: Any) -> Lower:
    """Halves are rounded up, as everywhere in Relay; positions are not negative."""

    def lower(bb: Any, x: Any, **o: Any) -> Any:
        roi, mode = o["roi"] or [0.0] * (2 * len(o["size"])), o["coordinate_transformation_mode"]
        rounding = o["rounding_method"] or ("round" if mode == "align_corners" else "")
        return bb.call_te(
            func, x, list(roi), list(o["size"]), o["layout"], o["method"],
            mode, "round_prefer_ceil" if rounding == "round" else rounding, o["cubic_alpha"],
            o["cubic_exclude"], o["extrapolation_value"], o["out_dtype"] or None,
        )  # fmt: skip

    return lower


def _resized(ctx: Relate) -> Type | None:
    """The data's type with the sizes that were asked for, numbers or not."""
    data = tensor(ctx, 0)
    if data is None:
        return None
    axes = [axis for axis in ctx.attrs.layout if axis.isalpha()]
    sizes = dict(zip([axis for axis in axes if axis in "DHW"], ctx.attrs.size))
    if len(axes) != len(data.shape) or len(sizes) != len(ctx.attrs.size):
        raise ctx.fail(
            f"the layout is {ctx.attrs.layout}", f"one for {len(data.shape)} axes, some of D, H, W"
        )
    shape = [sizes.get(axis, extent) for axis, extent in zip(axes, data.shape)]
    return TensorType(shape, ctx.attrs.out_dtype or data.dtype)


def _sizes(size: Any, count: int) -> tuple[Any, ...]:
    size = constant_ints(size) if isinstance(size, Constant) else size
    listed = size if isinstance(size, Sequence) or hasattr(size, "__len__") else (size,)
    given = tuple(s if isinstance(s, PrimExpr) else int(s) for s in listed)
    return given * count if len(given) == 1 else given


def _roi(roi: Any, axes: int) -> tuple[float, ...]:
    if isinstance(roi, Constant):
        roi = roi.data.numpy()
    return tuple(float(r) for r in ([0.0] * (2 * axes) if roi is None else roi))


@relay_op("image.resize1d", "Resize1DAttrs", operands=("data",), level=5, pattern=INJECTIVE,
          optional={"rounding_method": "round"},
          relation=_resized, lower=_resize(topi.image.resize1d))  # fmt: skip
def resize1d(
    data: Expr, size: Any, roi: Any = None, layout: str = "NCW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
    cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:  # fmt: skip
    """Signals of another length."""
    return resize1d.call(
        data, size=_sizes(size, 1), roi=_roi(roi, 1), layout=layout, method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=float(cubic_alpha),
        cubic_exclude=cubic_exclude, extrapolation_value=float(extrapolation_value),
        out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("image.resize2d", "Resize2DAttrs", operands=("data",), level=5, pattern=INJECTIVE,
          optional={"rounding_method": "round"},
          relation=_resized, lower=_resize(topi.image.resize2d))  # fmt: skip
def resize2d(
    data: Expr, size: Any, roi: Any = None, layout: str = "NCHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
    cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:  # fmt: skip
    """Images of another size."""
    if is_open(size, roi):
        attrs = ATTRS_CLASSES["Resize2DAttrs"](
            size=(), roi=(), layout=layout, method=method,
            coordinate_transformation_mode=coordinate_transformation_mode,
            rounding_method=rounding_method, cubic_alpha=float(cubic_alpha),
            cubic_exclude=cubic_exclude, extrapolation_value=float(extrapolation_value),
            out_dtype=out_dtype,
        )  # fmt: skip
        return dynamic(
            "dyn.image.resize2d", attrs, data, size, [0.0] * 4 if roi is None else roi
        )
    return resize2d.call(
        data, size=_sizes(size, 2), roi=_roi(roi, 2), layout=layout, method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=float(cubic_alpha),
        cubic_exclude=cubic_exclude, extrapolation_value=float(extrapolation_value),
        out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("image.resize3d", "Resize3DAttrs", operands=("data",), level=5, pattern=INJECTIVE,
          optional={"rounding_method": "round"},
          relation=_resized, lower=_resize(topi.image.resize3d))  # fmt: skip
def resize3d(
    data: Expr, size: Any, roi: Any = None, layout: str = "NCDHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
    cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:  # fmt: skip
    """Volumes of another size."""
    return resize3d.call(
        data, size=_sizes(size, 3), roi=_roi(roi, 3), layout=layout, method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=float(cubic_alpha),
        cubic_exclude=cubic_exclude, extrapolation_value=float(extrapolation_value),
        out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("image.crop_and_resize", "CropAndResizeAttrs", level=5, pattern=INJECTIVE,
          operands=("data", "boxes", "box_indices"),
          optional={"crop_size": None, "layout": "NCHW", "extrapolation_value": 0.0},
          lower=lambda bb, x, b, i, **o: bb.call_te(
              topi.image.crop_and_resize, x, b, i, list(o["crop_size"]), o["layout"],
              o["method"], o["extrapolation_value"], o["out_dtype"] or None))  # fmt: skip
def crop_and_resize(
    data: Expr, boxes: Expr, box_indices: Expr, crop_size: Any, layout: str,
    method: str = "bilinear", extrapolation_value: float = 0, out_dtype: str | None = None,
) -> Call:  # fmt: skip
    """Boxes of images, each resized."""
    return crop_and_resize.call(
        data, boxes, box_indices, crop_size=_sizes(crop_size, 2), layout=layout, method=method,
        extrapolation_value=float(extrapolation_value), out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("image.dilation2d", "Dilation2DAttrs", operands=("data", "weight"), level=2,
          pattern=OUT_FUSABLE,
          lower=lambda bb, x, w, **o: bb.call_te(
              topi.image.dilation2d_nchw if o["data_layout"] == "NCHW"
              else topi.image.dilation2d_nhwc, x, w, list(o["strides"]),
              list(get_pad_tuple2d(o["padding"])), list(o["dilations"]),
              o["out_dtype"] or str(x.struct_info.dtype)))  # fmt: skip
def dilation2d(
    data: Expr, weight: Expr, strides: Any = (1, 1), padding: Any = (0, 0),
    dilations: Any = (1, 1), data_layout: str = "NCHW", kernel_layout: str = "IHW",
    out_dtype: str = "",
) -> Call:  # fmt: skip
    """The greatest sum of image and kernel over windows."""
    return dilation2d.call(
        data, weight, strides=_sizes(strides, 2), padding=_sizes(padding, 2),
        dilations=_sizes(dilations, 2), data_layout=data_layout, kernel_layout=kernel_layout,
        out_dtype=out_dtype,
    )  # fmt: skip


@relay_op("image.affine_grid", "AffineGridAttrs", operands=("data",), level=5, pattern=INJECTIVE,
          lower=lambda bb, x, *, target_shape: bb.call_te(
              topi.image.affine_grid, x, list(target_shape)))  # fmt: skip
def affine_grid(data: Expr, target_shape: Any = None) -> Call:
    """Sampling coordinates of an image under affine maps."""
    return affine_grid.call(data, target_shape=_sizes(target_shape, 2))


@relay_op("image.grid_sample", "GridSampleAttrs", operands=("data", "grid"), level=5,
          pattern=INJECTIVE, lower=te(topi.image.grid_sample))  # fmt: skip
def grid_sample(
    data: Expr, grid: Expr, method: str = "bilinear", layout: str = "NCHW",
    padding_mode: str = "zeros", align_corners: bool = True,
) -> Call:  # fmt: skip
    """Images read at the points of a grid."""
    return grid_sample.call(
        data, grid, method=method, layout=layout, padding_mode=padding_mode,
        align_corners=align_corners,
    )  # fmt: skip


__all__ = [
    "affine_grid", "crop_and_resize", "dilation2d", "grid_sample", "resize1d", "resize2d",
    "resize3d",
]  # fmt: skip
