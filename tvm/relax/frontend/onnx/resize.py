"""Resize along axes whose extents or scales only running tells.

The places and weights of the elements that each new one is made of are small tables, computed as
the program runs; the formulas are those of `resampling.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.extents import named
from tvm.relax.frontend.resampling import Resampling
from tvm.tir.expr import as_expr

from .node import Node

F32 = "float32"


@dataclass(frozen=True)
class OpenAxis:
    """An axis that is resized: its extents, and the scale (a number, or a tensor of one)."""

    size: PrimExpr
    out: PrimExpr
    scale: PrimExpr | RelaxExpr


def by_sizes(node: Node, extents: list[Any], sizes: list[Any], policy: str) -> list[OpenAxis]:
    """Axes of these new extents, or of ones that keep the ratio of the old ones."""
    ratios = [_float(size) / _float(extent) for size, extent in zip(sizes, extents)]
    if policy == "stretch":
        return [OpenAxis(n, as_expr(m), r) for n, m, r in zip(extents, sizes, ratios)]
    scale = ratios[0]
    for ratio in ratios[1:]:
        scale = tir.min(scale, ratio) if policy == "not_larger" else tir.max(scale, ratio)
    half = tir.const(0.5, F32)
    return [
        OpenAxis(n, named(node.bb, _whole(scale * _float(n) + half), "size"), scale)
        for n in extents
    ]


def by_scales(node: Node, extents: list[Any], scales: list[Any]) -> list[OpenAxis]:
    """Axes whose new extents are the old ones times scales, rounded down."""
    found = []
    for extent, given in zip(extents, scales):
        scale = given if isinstance(given, PrimExpr) else tir.const(float(given), F32)
        out = named(node.bb, _whole(_float(extent) * scale), "size")
        found.append(OpenAxis(extent, out, scale))
    return found


def by_computed_scales(node: Node, extents: list[Any], scales: RelaxExpr) -> list[OpenAxis]:
    """The same, with scales that the model computes."""
    bb = node.bb
    from tvm.relax.struct_info import ShapeExpr

    own = bb.emit(op.astype(bb.emit(op.shape_to_tensor(ShapeExpr(extents))), F32))
    whole = bb.emit(op.astype(op.floor(op.multiply(own, scales)), "int64"))
    sizes = node.run_time_sizes(whole)
    return [
        OpenAxis(extent, out, bb.emit(op.take(scales, Constant(np.array([i], np.int64)), 0)))
        for i, (extent, out) in enumerate(zip(extents, sizes))
    ]


def resampled(
    node: Node, value: RelaxExpr, axes: dict[int, OpenAxis], how: Resampling
) -> RelaxExpr:
    """One axis after the other: a gather, or a sum of a few elements each."""
    from .image import weighted

    for place, axis in axes.items():
        parts = [axis.size, axis.out, axis.scale]
        if how.mode == "nearest":
            index = node.bb.emit_te(_places, *parts, how.coordinates, how.nearest,
                                    primfunc_name_hint="places")  # fmt: skip
            value = node.bb.emit(op.take(value, index, place))
            continue
        indices = node.bb.emit_te(_taps, *parts, how.mode, how.coordinates,
                                  primfunc_name_hint="taps")  # fmt: skip
        weights = node.bb.emit_te(
            _weights, *parts, how.mode, how.coordinates, how.cubic_a, how.exclude_outside,
            node.dtype(0), primfunc_name_hint="weights",
        )  # fmt: skip
        value = node.bb.emit_te(weighted, value, indices, weights, place,
                                primfunc_name_hint="resize")  # fmt: skip
    return value


def _float(value: Any) -> PrimExpr:
    expr = value if isinstance(value, PrimExpr) else tir.const(int(value), "int64")
    return tir.Cast(F32, expr)


def _whole(value: PrimExpr) -> PrimExpr:
    return tir.Cast("int64", tir.floor(value))


def _at(i: Any, size: Any, out: Any, scale: Any, how: str) -> Any:
    """Where element `i` of the result lies in the input."""
    ratio = scale(tir.const(0, "int64")) if isinstance(scale, te.Tensor) else scale
    x, one, half = _float(i), tir.const(1.0, F32), tir.const(0.5, F32)
    zero = tir.const(0.0, F32)
    single = tir.EQ(_int(out), tir.const(1, "int64"))
    if how == "asymmetric":
        return x / ratio
    if how == "align_corners":
        steps = tir.max(_float(out) - one, one)
        return tir.Select(single, zero, x * ((_float(size) - one) / steps))
    middle = (x + half) / ratio - half
    if how == "pytorch_half_pixel":
        return tir.Select(single, zero, middle)
    if how == "half_pixel_symmetric":
        adjustment = _float(out) / (ratio * _float(size))
        return middle + _float(size) * half * (one - adjustment)
    return middle


def _int(value: Any) -> PrimExpr:
    return value if isinstance(value, PrimExpr) else tir.const(int(value), "int64")


def _kept(place: Any, size: Any) -> Any:
    """The nearest place within the input."""
    return tir.max(tir.min(tir.Cast("int64", place), _int(size) - 1), tir.const(0, "int64"))


def _places(size: Any, out: Any, scale: Any, coordinates: str, nearest: str) -> te.Tensor:
    half = tir.const(0.5, F32)

    def element(i: Any) -> Any:
        at = _at(i, size, out, scale, coordinates)
        rounded = {
            "round_prefer_floor": lambda: tir.ceil(at - half),
            "round_prefer_ceil": lambda: tir.floor(at + half),
            "ceil": lambda: tir.ceil(at),
        }.get(nearest, lambda: tir.floor(at))()
        return _kept(rounded, size)

    result: te.Tensor = te.compute((out,), element, name="places")
    return result


def _first(i: Any, size: Any, out: Any, scale: Any, mode: str, coordinates: str) -> tuple[Any, Any]:
    """Where element `i` lies, and the first place that it is made of."""
    at = _at(i, size, out, scale, coordinates)
    if mode == "linear":
        last = _float(size) - tir.const(1.0, F32)
        at = tir.max(tir.min(at, last), tir.const(0.0, F32))
        return at, tir.floor(at)
    return at, tir.floor(at) - tir.const(1.0, F32)


def _taps(size: Any, out: Any, scale: Any, mode: str, coordinates: str) -> te.Tensor:
    def element(i: Any, k: Any) -> Any:
        _, first = _first(i, size, out, scale, mode, coordinates)
        return _kept(tir.Cast("int64", first) + k.astype("int64"), size)

    result: te.Tensor = te.compute((out, 2 if mode == "linear" else 4), element, name="taps")
    return result


def _weights(
    size: Any, out: Any, scale: Any, mode: str, coordinates: str, a: float, inside: bool, dtype: str
) -> te.Tensor:
    count = 2 if mode == "linear" else 4

    def weight(i: Any, k: Any) -> Any:
        at, first = _first(i, size, out, scale, mode, coordinates)
        place = first + _float(k)
        distance = tir.abs(place - at)
        found = _kernel(distance, mode, a)
        if inside:
            zero = tir.const(0.0, F32)
            legal = tir.all(place >= zero, place < _float(size))
            found = tir.Select(legal, found, zero)
        return found

    def element(i: Any, k: Any) -> Any:
        found = weight(i, k)
        if inside:
            total = weight(i, tir.const(0, "int64"))
            for other in range(1, count):
                total = total + weight(i, tir.const(other, "int64"))
            found = found / total
        return found.astype(dtype)

    result: te.Tensor = te.compute((out, count), element, name="weights")
    return result


def _kernel(distance: Any, mode: str, a: float) -> Any:
    def number(value: float) -> PrimExpr:
        return tir.const(value, F32)

    if mode == "linear":
        return tir.max(number(0), number(1) - distance)
    near = ((number(a + 2) * distance - number(a + 3)) * distance) * distance + number(1)
    far = ((number(a) * distance - number(5 * a)) * distance + number(8 * a)) * distance
    beyond = tir.Select(distance < number(2), far - number(4 * a), number(0))
    return tir.Select(distance <= number(1), near, beyond)
