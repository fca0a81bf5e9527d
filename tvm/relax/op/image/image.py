"""Operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.op import layout_rules
from tvm.relax.op.declare import (
    FOLLOW,
    INJECTIVE,
    Array,
    Expr,
    Infer,
    attrs_class,
    dtype_or_void,
    listed,
    real,
    relax_op,
    topi,
    whole,
)
from tvm.relax.op.layouts import arranged, extents_by_letter, from_plain, layout_parts, to_plain
from tvm.relax.op.shapes import like
from tvm.relax.struct_info import VOID, ShapeExpr, ShapeStructInfo, TensorStructInfo
from tvm.support.dtype import DataType

Resize2DAttrs = attrs_class(
    "Resize2DAttrs", "roi", "layout", "method", "coordinate_transformation_mode",
    "rounding_method", "cubic_alpha", "cubic_exclude", "extrapolation_value", "out_dtype",
    numbers=("roi",),
)  # fmt: skip


@relax_op("relax.image.resize2d", "data: Tensor, size: Shape", Resize2DAttrs, pattern=INJECTIVE,
          precision=FOLLOW)  # fmt: skip
def resize2d(
    data: ExprLike,
    size: Any,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DataType | str | None = None,
) -> Call:
    """Images of another height and width.   (n, c, h, w), (h', w') -> (n, c, h', w')"""
    if roi is None:
        box: tuple[float, ...] = (0.0,) * 4
    elif isinstance(roi, (int, float)):
        box = (float(roi),) * 4
    else:
        box = tuple(real(v, "roi") for v in listed(roi, "roi"))
    if not isinstance(size, Expr):
        single = not isinstance(size, (list, tuple))
        size = ShapeExpr((size, size) if single else tuple(size) * (3 - len(size)))
    return resize2d.call(
        data, size, roi=box, layout=layout, method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method, cubic_alpha=real(cubic_alpha, "cubic_alpha"),
        cubic_exclude=whole(cubic_exclude, "cubic_exclude"),
        extrapolation_value=real(extrapolation_value, "extrapolation_value"),
        out_dtype=dtype_or_void(out_dtype),
    )  # fmt: skip


@resize2d.infer
def _resize2d_info(
    ctx: Infer,
    data: TensorStructInfo,
    size: ShapeStructInfo,
    *,
    layout: str,
    out_dtype: DataType,
    **options: Any,
) -> TensorStructInfo:
    if size.ndim not in (-1, 2):
        raise ctx.shape_error("size must have 2 numbers", f"{size.ndim}", "(height, width)")
    x = extents_by_letter(ctx, "data", data, layout, "NCHW")
    dtype = data.dtype if out_dtype is VOID else out_dtype
    if x is None or size.values is None:
        return like(data, None, len(layout_parts(layout)), dtype)
    x["H"], x["W"] = size.values
    return like(data, arranged(x, layout), dtype=dtype)


@resize2d.legalize
def _resize2d_te(bb: BlockBuilder, data: Expr, size: Expr, **o: Any) -> Expr:
    return bb.call_te(
        topi.image.resize2d,
        data,
        roi=list(o["roi"]),
        size=size,
        layout=o["layout"],
        method=o["method"],
        coordinate_transformation_mode=o["coordinate_transformation_mode"],
        rounding_method=o["rounding_method"],
        bicubic_alpha=o["cubic_alpha"],
        bicubic_exclude=o["cubic_exclude"],
        extrapolation_value=o["extrapolation_value"],
        out_dtype=None if o["out_dtype"] is VOID else str(o["out_dtype"]),
    )


def _source(
    out: int, size: int, target: int, mode: str, start: float, end: float, number: Any = float
) -> float:
    """Where an output pixel lies in the input, computed in a type of numbers."""
    scale, at, half = number(size) / number(target), number(out), number(0.5)
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and target > 1):
        return float((at + half) * scale - half)
    if mode == "pytorch_half_pixel":
        return 0.0
    if mode == "align_corners":
        return float(number(size - 1) / number(target - 1) * at) if target > 1 else 0.0
    if mode == "asymmetric":
        return float(scale * at)
    if mode == "tf_half_pixel_for_nn":
        return float((at + half) * scale)
    if mode == "tf_crop_and_resize":
        if target > 1:
            return start * (size - 1) + out * (end - start) * (size - 1) / (target - 1)
        return 0.5 * (start + end) * (size - 1)
    raise ValueError(f"resize2d: unknown coordinate_transformation_mode {mode!r}")


def _nearest(coordinate: float, rounding: str) -> int:
    if rounding == "round":
        return math.floor(coordinate + 0.5)
    if rounding == "round_prefer_floor":
        return math.ceil(coordinate - 0.5)
    if rounding == "round_prefer_ceil":
        return math.floor(coordinate + 0.5)
    if rounding == "floor":
        return math.floor(coordinate + 1e-5)
    if rounding == "ceil":
        return math.ceil(coordinate - 1e-5)
    raise ValueError(f"resize2d: unknown rounding_method {rounding!r}")


def _weights(size: int, target: int, o: dict[str, Any], start: float, end: float) -> Array:
    """A matrix (target, size) that resamples one axis."""
    matrix = np.zeros((target, size))
    # which of two pixels is the nearer one, numbers as programs compute with decide
    number = np.float32 if o["method"] == "nearest_neighbor" else float
    for out in range(target):
        mode = o["coordinate_transformation_mode"]
        coordinate = _source(out, size, target, mode, start, end, number)
        if o["method"] == "nearest_neighbor":
            rounding = o["rounding_method"] or ("round" if mode == "align_corners" else "floor")
            taps = {_nearest(coordinate, rounding): 1.0}
        elif o["method"] == "linear":
            low = math.floor(coordinate)
            taps = {low: 1 - (coordinate - low), low + 1: coordinate - low}
        else:
            taps = _cubic(coordinate, size, o["cubic_alpha"], bool(o["cubic_exclude"]))
        for at, weight in taps.items():
            matrix[out, min(max(at, 0), size - 1)] += weight
    return matrix


def _cubic(coordinate: float, size: int, a: float, exclude: bool) -> dict[int, float]:
    """The four taps of cubic convolution with parameter `a` (Keys, 1981)."""
    low = math.floor(coordinate)
    t = coordinate - low
    weights = [
        a * (t**3 - 2 * t**2 + t),
        (a + 2) * t**3 - (a + 3) * t**2 + 1,
        -(a + 2) * t**3 + (2 * a + 3) * t**2 - a * t,
        -a * t**3 + a * t**2,
    ]
    taps = {low - 1 + i: weight for i, weight in enumerate(weights)}
    if exclude:
        taps = {at: w for at, w in taps.items() if 0 <= at < size}
        total = sum(taps.values())
        taps = {at: w / total for at, w in taps.items()}
    return taps


resize2d.layout(layout_rules.resized)


def resize_weights(
    sizes: Sequence[int], targets: Sequence[int], options: dict[str, Any]
) -> tuple[Array, Array]:
    """The matrices (target, size) that resample rows and columns."""
    roi = options["roi"]
    rows = _weights(sizes[0], targets[0], options, roi[0], roi[2])
    return rows, _weights(sizes[1], targets[1], options, roi[1], roi[3])


@resize2d.reference
def _resize2d_numpy(data: Array, size: Any, **o: Any) -> Array:
    x = to_plain(data, o["layout"], "NCHW")
    rows, columns = resize_weights(x.shape[2:], [int(extent) for extent in size], o)
    out = np.einsum("nchw,yh,xw->ncyx", x.astype(np.float64), rows, columns)
    dtype = data.dtype if o["out_dtype"] is VOID else numpy_dtype(o["out_dtype"])
    return from_plain(out.astype(dtype), o["layout"], "NCHW")
