"""The mean (or maximum) of samples of each part of a region."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .convolution import several


def _between(plane: Any, y: float, x: float) -> Any:
    """(c, h, w) at a point between elements; zero beyond one element outside."""
    h, w = plane.shape[1:]
    if y < -1 or y > h or x < -1 or x > w:
        return np.zeros(plane.shape[0])
    y, x = min(max(y, 0.0), h - 1.0), min(max(x, 0.0), w - 1.0)
    top, left = math.floor(y), math.floor(x)
    down, right = min(top + 1, h - 1), min(left + 1, w - 1)
    a, b = y - top, x - left
    above = plane[:, top, left] * (1 - b) + plane[:, top, right] * b
    below = plane[:, down, left] * (1 - b) + plane[:, down, right] * b
    return above * (1 - a) + below * a


def roi_align_common(
    a_np: Any, b_np: Any, rois_np: Any, channel: int, pooled_size_h: int, pooled_size_w: int,
    spatial_scale: float, sample_ratio: int, avg_mode: bool, max_mode: bool, height: int,
    width: int, layout: str,
) -> Any:  # fmt: skip
    """Fill `b_np` with the samples of all regions."""
    first = a_np if layout == "NCHW" else np.moveaxis(a_np, -1, 1)
    for r, roi in enumerate(rois_np):
        plane = first[int(roi[0])]
        x0, y0, x1, y1 = (float(v) * spatial_scale for v in roi[1:])
        tall, wide = max(y1 - y0, 1.0) / pooled_size_h, max(x1 - x0, 1.0) / pooled_size_w
        grid_h = sample_ratio if sample_ratio > 0 else math.ceil(tall)
        grid_w = sample_ratio if sample_ratio > 0 else math.ceil(wide)
        for i, j in np.ndindex(pooled_size_h, pooled_size_w):
            samples = [
                _between(plane, y0 + i * tall + (u + 0.5) * tall / grid_h,
                         x0 + j * wide + (v + 0.5) * wide / grid_w)
                for u, v in np.ndindex(grid_h, grid_w)
            ]  # fmt: skip
            value = np.mean(samples, 0) if avg_mode else np.max(samples, 0)
            b_np[(r, slice(None), i, j) if layout == "NCHW" else (r, i, j)] = value
    return b_np


def _align(
    a_np: Any, rois_np: Any, pooled_size: Any, scale: float, ratio: int, mode: bytes, layout: str
) -> Any:
    rows, columns = several(pooled_size, 2)
    kind = mode.decode() if isinstance(mode, bytes) else str(mode)
    if kind not in ("avg", "max"):
        raise ValueError(f"roi_align: mode {kind!r}; legal: avg, max")
    channel = a_np.shape[1 if layout == "NCHW" else -1]
    shape = (channel, rows, columns) if layout == "NCHW" else (rows, columns, channel)
    out = np.zeros((len(rois_np), *shape), a_np.dtype)
    height, width = a_np.shape[2:] if layout == "NCHW" else a_np.shape[1:3]
    return roi_align_common(
        a_np, out, rois_np, channel, rows, columns, scale, ratio, kind == "avg", kind == "max",
        height, width, layout,
    )  # fmt: skip


def roi_align_nchw_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int,
    mode: bytes = b"avg",
) -> Any:  # fmt: skip
    """(n, c, h, w), (r, 5) -> (r, c, ph, pw)"""
    return _align(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode, "NCHW")


def roi_align_nhwc_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int,
    mode: bytes = b"avg",
) -> Any:  # fmt: skip
    """(n, h, w, c), (r, 5) -> (r, ph, pw, c)"""
    return _align(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode, "NHWC")
