"""Convolution whose taps are moved by offsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .convolution import several


def deformable_conv2d_nchw_python(
    a_np: Any, offset_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any,
    deformable_groups: int, groups: int,
) -> Any:  # fmt: skip
    """(n, c, h, w), (n, g * kh * kw * 2, oh, ow), (o, c / groups, kh, kw) -> (n, o, oh, ow)"""
    (sh, sw), (ph, pw), (dh, dw) = several(stride, 2), several(padding, 2)[:2], several(dilation, 2)
    n, c, _, _ = a_np.shape
    o, own, kh, kw = w_np.shape
    rows, columns = offset_np.shape[2:]
    per_group, each = c // deformable_groups, o // groups
    moved = np.zeros((n, c, kh, kw, rows, columns), a_np.dtype)
    for b, k, i, j, y, x in np.ndindex(*moved.shape):
        tap = ((k // per_group) * kh * kw + i * kw + j) * 2
        at_y = y * sh - ph + i * dh + offset_np[b, tap, y, x]
        at_x = x * sw - pw + j * dw + offset_np[b, tap + 1, y, x]
        moved[b, k, i, j, y, x] = _between(a_np[b, k], float(at_y), float(at_x))
    result = np.zeros((n, o, rows, columns), a_np.dtype)
    for g in range(groups):
        result[:, g * each : (g + 1) * each] = np.einsum(
            "ncijyx,ocij->noyx", moved[:, g * own : (g + 1) * own], w_np[g * each : (g + 1) * each]
        )
    return result


def _between(plane: Any, y: float, x: float) -> float:
    """The value between four elements; zero outside, and before the first row or column."""
    if y < 0 or x < 0:
        return 0.0
    top, left = math.floor(y), math.floor(x)
    total = 0.0
    for i in (top, top + 1):
        for j in (left, left + 1):
            if 0 <= i < plane.shape[0] and 0 <= j < plane.shape[1]:
                total += (1 - abs(y - i)) * (1 - abs(x - j)) * float(plane[i, j])
    return total


def deformable_conv2d_nhwc_python(
    a_np: Any, offset_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any,
    deformable_groups: int, groups: int,
) -> Any:  # fmt: skip
    """(n, h, w, c), (n, oh, ow, g * kh * kw * 2), (kh, kw, c, o) -> (n, oh, ow, o)"""
    first = deformable_conv2d_nchw_python(
        a_np.transpose(0, 3, 1, 2), offset_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1),
        stride, padding, dilation, deformable_groups, groups,
    )  # fmt: skip
    return first.transpose(0, 2, 3, 1)
