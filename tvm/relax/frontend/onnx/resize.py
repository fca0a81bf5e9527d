"""Resize along axes whose extents or scales only running tells.

The places and weights of the elements that each new one is made of are small tables, computed as
the program runs; the formulas are those of `resampling.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import named
from tvm.relax.frontend.resampling import Resampling
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.expr import FloatImm, as_expr
from tvm.topi.image.taps import weighted_taps

from .node import Node

F32 = "float32"


_NOTHING, _ALL = FloatImm(F32, 0.0), FloatImm(F32, 1.0)

_Axis = TypeVar("_Axis")


@dataclass(frozen=True)
class OpenAxis:
    """An axis that is resized: its extents, the scale, and the part of it that is taken.

    The scale and the bounds of the part are numbers, or tensors of one.
    """

    size: PrimExpr
    out: PrimExpr
    scale: PrimExpr | RelaxExpr
    start: PrimExpr | RelaxExpr = _NOTHING
    end: PrimExpr | RelaxExpr = _ALL


def takes_all(node: Node, at: int, count: int) -> bool:
    """Whether the bounds in input 1 are known to be those of a whole axis."""
    known = node.known(1)
    flat = None if known is None else known.reshape(-1)
    return flat is not None and (flat[at], flat[count + at]) == (0.0, 1.0)


def with_parts(node: Node, axes: list[OpenAxis], kept: list[int], count: int) -> list[OpenAxis]:
    """The axes with the bounds that input 1 gives each: all starts, then all ends."""
    known = node.known(1)

    def bound(at: int) -> PrimExpr | RelaxExpr:
        if known is not None:
            return tir.const(float(known.reshape(-1)[at]), F32)
        value = node.bb.emit(op.astype(node[1], F32))
        return node.bb.emit(op.take(value, Constant(np.array([at], np.int64)), 0))

    return [
        replace(axis, start=bound(at), end=bound(count + at)) for at, axis in zip(kept, axes)
    ]


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
    bb, scales = node.bb, node.counted(scales, len(extents))
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
    rank = node.rank(0)
    for place, axis in in_order(node, axes):
        parts = [axis.size, axis.out, axis.scale, axis.start, axis.end]
        lies = node.bb.emit_te(_lies, *parts, how.coordinates, primfunc_name_hint="lies")
        if how.mode == "nearest":
            given = [lies, axis.size, axis.scale, how.nearest]
            index = node.bb.emit_te(_places, *given, primfunc_name_hint="places")
            value = node.bb.emit(op.take(value, index, place))
            continue
        count, stretch = _reach(node, axis, how)
        given = [lies, axis.size, count, stretch, how.mode]
        indices = node.bb.emit_te(_taps, *given, primfunc_name_hint="taps")
        weights = node.bb.emit_te(
            _weights, *given, how.cubic_a, how.exclude_outside, primfunc_name_hint="weights"
        )
        if how.exclude_outside or how.antialias:
            total = node.bb.emit(op.sum(weights, [0], keepdims=True))
            weights = node.bb.emit(op.divide(weights, total))
        weights = node.bb.emit(op.astype(weights, node.dtype(0)))
        value = node.bb.emit_te(weighted_taps, value, indices, weights, place,
                                primfunc_name_hint="resize")  # fmt: skip
        value = rounded(node, value)
    if how.coordinates == "tf_crop_and_resize":
        fill = Constant(np.asarray(node.attr("extrapolation_value", 0.0), node.dtype(0)))
        for place, axis in axes.items():
            parts = [axis.size, axis.out, axis.scale, axis.start, axis.end]
            lies = node.bb.emit_te(_lies, *parts, how.coordinates, primfunc_name_hint="lies")
            mark = node.bb.emit_te(_outside, lies, axis.size, primfunc_name_hint="outside")
            shape: list[Any] = [1] * rank
            shape[place] = axis.out
            value = node.bb.emit(op.where(node.bb.emit(op.reshape(mark, shape)), fill, value))
    return value


def in_order(node: Node, axes: Mapping[int, _Axis]) -> list[tuple[int, _Axis]]:
    """The axes as they are resized: from the last on, where the order shows."""
    found = list(axes.items())
    return found[::-1] if node.attr("rounded_to") else found


def rounded(node: Node, value: RelaxExpr) -> RelaxExpr:
    """The nearest integers of a data type, in floats, if the node says so."""
    dtype = node.attr("rounded_to")
    if dtype is None:
        return value
    limits = np.iinfo(dtype)
    above = op.floor(op.add(value, Constant(np.float32(0.5))))
    return node.bb.emit(op.clip(above, float(limits.min), float(limits.max)))


def _reach(node: Node, axis: OpenAxis, how: Resampling) -> tuple[Any, Any]:
    """How many elements one is made of, and how far apart they count: 1, but smaller where
    the kernel is wider since the result is smaller."""
    near, one = 1 if how.mode == "linear" else 2, tir.const(1.0, F32)
    if not how.antialias:
        return 2 * near, one
    if isinstance(axis.scale, FloatImm):
        share = min(axis.scale.value, 1.0)
        return 2 * math.ceil(near / share) + 1, tir.const(share, F32)
    if isinstance(axis.scale, PrimExpr):
        stretch = tir.min(axis.scale, one)
        count = 2 * tir.Cast("int64", tir.ceil(tir.const(float(near), F32) / stretch)) + 1
        return named(node.bb, count, "taps"), stretch
    small = node.bb.emit(op.minimum(axis.scale, Constant(np.float32(1))))
    half = op.ceil(op.divide(Constant(np.float32(near)), small))
    whole = op.add(op.multiply(half, Constant(np.float32(2))), Constant(np.float32(1)))
    return node.run_time_sizes(node.bb.emit(op.astype(node.bb.emit(whole), "int64")))[0], small


def _float(value: Any) -> PrimExpr:
    expr = value if isinstance(value, PrimExpr) else tir.const(int(value), "int64")
    return tir.Cast(F32, expr)


def _whole(value: PrimExpr) -> PrimExpr:
    return tir.Cast("int64", tir.floor(value))


def _plain(value: Any) -> Any:
    """The number in a tensor of one."""
    return value(tir.const(0, "int64")) if isinstance(value, te.Tensor) else value


def _lies(size: Any, out: Any, scale: Any, start: Any, end: Any, how: str) -> te.Tensor:
    """Where each element of the result lies in the input."""
    one, half, zero = tir.const(1.0, F32), tir.const(0.5, F32), tir.const(0.0, F32)
    single = tir.EQ(_int(out), tir.const(1, "int64"))
    last, steps = _float(size) - one, tir.max(_float(out) - one, one)

    def element(i: Any) -> Any:
        x, ratio = _float(i), _plain(scale)
        if how == "asymmetric":
            return x / ratio
        if how == "align_corners":
            return tir.Select(single, zero, x * (last / steps))
        if how == "tf_crop_and_resize":
            low, high = _plain(start), _plain(end)
            middle = half * (low + high) * last
            return tir.Select(single, middle, low * last + x * ((high - low) * last / steps))
        middle = (x + half) / ratio
        if how == "tf_half_pixel_for_nn":
            return middle
        middle -= half
        if how == "pytorch_half_pixel":
            return tir.Select(single, zero, middle)
        if how == "half_pixel_symmetric":
            adjustment = _float(out) / (ratio * _float(size))
            return middle + _float(size) * half * (one - adjustment)
        return middle

    result: te.Tensor = te.compute((out,), element, name="lies")
    return result


def _outside(lies: te.Tensor, size: Any) -> te.Tensor:
    zero, last = tir.const(0.0, F32), _float(size) - tir.const(1.0, F32)
    mark: te.Tensor = te.compute(
        lies.shape, lambda i: tir.any(lies(i) < zero, lies(i) > last), name="outside"
    )
    return mark


def _int(value: Any) -> PrimExpr:
    return tir.Cast("int64", value) if isinstance(value, PrimExpr) else tir.const(value, "int64")


def _kept(place: Any, size: Any) -> Any:
    """The nearest place within the input."""
    return tir.max(tir.min(tir.Cast("int64", place), _int(size) - 1), tir.const(0, "int64"))


def _places(lies: te.Tensor, size: Any, scale: Any, nearest: str) -> te.Tensor:
    half = tir.const(0.5, F32)

    def element(i: Any) -> Any:
        at = lies(i)
        ways: dict[str, Callable[[], Any]] = {
            "round_prefer_floor": lambda: tir.ceil(at - half),
            "round_prefer_ceil": lambda: tir.floor(at + half),
            "ceil": lambda: tir.ceil(at),
            "simple": lambda: tir.Select(_float(scale) < 1.0, tir.ceil(at), tir.floor(at)),
        }
        return _kept(ways.get(nearest, lambda: tir.floor(at))(), size)

    result: te.Tensor = te.compute(lies.shape, element, name="places")
    return result


def _first(at: Any, size: Any, count: Any, stretch: Any, mode: str) -> tuple[Any, Any]:
    """Where an element lies, and the first place that it is made of."""
    if mode == "linear":  # outside is the edge, unless the kernel is wider
        last, zero = _float(size) - tir.const(1.0, F32), tir.const(0.0, F32)
        within = tir.max(tir.min(at, last), zero)
        at = tir.Select(_plain(stretch) < tir.const(1.0, F32), at, within)
    return at, tir.floor(at) - (_float(tir.floordiv(_int(count) - 1, 2)))


def _taps(lies: te.Tensor, size: Any, count: Any, stretch: Any, mode: str) -> te.Tensor:
    def element(k: Any, i: Any) -> Any:
        _, first = _first(lies(i), size, count, stretch, mode)
        return _kept(tir.Cast("int64", first) + k.astype("int64"), size)

    result: te.Tensor = te.compute((count, lies.shape[0]), element, name="taps")
    return result


def _weights(
    lies: te.Tensor, size: Any, count: Any, stretch: Any, mode: str, a: float, inside: bool
) -> te.Tensor:
    """By the distance; with `inside`, nothing for places outside."""

    def element(k: Any, i: Any) -> Any:
        at, first = _first(lies(i), size, count, stretch, mode)
        place = first + _float(k)
        found = _kernel(tir.abs(place - at) * _plain(stretch), mode, a)
        if inside:
            zero = tir.const(0.0, F32)
            found = tir.Select(tir.all(place >= zero, place < _float(size)), found, zero)
        return found

    result: te.Tensor = te.compute((count, lies.shape[0]), element, name="weights")
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
