"""Which input elements each element along a resized axis is made of, and with what weights.

The formulas are those of ONNX's Resize; coordinates are in float32, as other runtimes have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Resampling:
    """How coordinates and elements are found."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


@dataclass(frozen=True)
class Axis:
    """One axis that is resized: extents, scale, and the part of it (for crops)."""

    size: int
    out: int
    scale: float
    start: float = 0.0
    end: float = 1.0


def coordinates(axis: Axis, how: str) -> Any:
    """Where each element of the result lies in the input."""
    x = np.arange(axis.out, dtype=np.float32)
    scale = np.float32(axis.scale)
    if how == "asymmetric":
        return x / scale
    if how == "align_corners":
        step = np.float32((axis.size - 1) / (axis.out - 1)) if axis.out > 1 else np.float32(0)
        return x * step
    if how == "tf_crop_and_resize":
        if axis.out == 1:
            return np.full(1, 0.5 * (axis.start + axis.end) * (axis.size - 1), np.float32)
        step = (axis.end - axis.start) * (axis.size - 1) / (axis.out - 1)
        return np.float32(axis.start * (axis.size - 1)) + x * np.float32(step)
    if how == "pytorch_half_pixel" and axis.out == 1:
        return np.zeros(1, np.float32)
    half = (x + np.float32(0.5)) / scale
    if how == "tf_half_pixel_for_nn":
        return half
    half -= np.float32(0.5)
    if how == "half_pixel_symmetric":
        adjustment = np.float32(axis.out / (axis.scale * axis.size))
        return half + np.float32(axis.size / 2) * (1 - adjustment)
    return half


COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    "tf_crop_and_resize", "tf_half_pixel_for_nn",
)  # fmt: skip
NEAREST: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
    "floor": np.floor,
    "ceil": np.ceil,
}


def nearest_indices(axis: Axis, how: Resampling) -> Any:
    """The input's index for each index of the result."""
    nearest = how.nearest
    if nearest == "simple":  # what operator set 10 left open
        nearest = "ceil" if axis.scale < 1 else "floor"
    found = NEAREST[nearest](coordinates(axis, how.coordinates))
    return np.clip(found, 0, axis.size - 1).astype(np.int64)


def outside(axis: Axis, how: Resampling) -> Any:
    """Which elements of the result lie outside of the input, so that another value is taken."""
    at = coordinates(axis, how.coordinates)
    return (at < 0) | (at > axis.size - 1)


def taps(axis: Axis, how: Resampling) -> tuple[Any, Any]:
    """Indices and weights, (number of taps, out) each, of linear and cubic resampling."""
    at = coordinates(axis, how.coordinates).astype(np.float64)
    widened = how.antialias and axis.scale < 1
    stretch = axis.scale if widened else 1.0
    reach = (1 if how.mode == "linear" else 2) / stretch
    if how.mode == "linear" and not widened:
        at = np.clip(at, 0, axis.size - 1)
    count = 2 * math.ceil(reach) + (1 if widened else 0)
    first = np.floor(at) - (math.ceil(reach) - 1) - (1 if widened else 0)
    indices = first[:, None] + np.arange(count)
    distance = abs(indices - at[:, None]) * stretch
    weights = _linear(distance) if how.mode == "linear" else _cubic(distance, how.cubic_a)
    if how.exclude_outside:
        weights = np.where((indices >= 0) & (indices < axis.size), weights, 0)
    if how.exclude_outside or widened:
        weights = weights / weights.sum(1, keepdims=True)
    kind = np.int32 if axis.size < 2**31 else np.int64
    indices = np.clip(indices, 0, axis.size - 1).astype(kind)
    return np.ascontiguousarray(indices.T), np.ascontiguousarray(weights.T)


def _linear(distance: Any) -> Any:
    return np.maximum(0, 1 - distance)


def _cubic(distance: Any, a: float) -> Any:
    """Keys' kernel (1981)."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
