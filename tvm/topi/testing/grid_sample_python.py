"""Pictures sampled at given coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from .convolution import index_tuple


def affine_grid_python(data: Any, target_shape: Sequence[int]) -> Any:
    """(n, 2, 3) -> (n, 2, h, w), x before y, in [-1, 1]"""
    lines = [np.linspace(-1, 1, n) if n > 1 else np.array([-1.0]) for n in target_shape]
    y, x = np.meshgrid(*lines, indexing="ij")
    coords = np.stack([x, y, np.ones_like(x)])
    return np.einsum("nij,jhw->nihw", data, coords).astype(data.dtype)


def _reflect(at: float, low: float, span: float) -> float:
    if span <= 0:
        return 0.0
    away = abs(at - low)
    turns, rest = int(away // span), away % span
    return low + (span - rest if turns % 2 else rest)


def _inside(at: float, n: int, mode: str, align: bool) -> float:
    if mode == "zeros":
        return at
    if mode == "reflection":
        at = _reflect(at, 0.0 if align else -0.5, float(n - 1 if align else n))
    return min(max(at, 0.0), n - 1.0)


def _taps(at: float, method: str) -> list[tuple[int, float]]:
    """The elements around a point with their weights."""
    if method == "nearest":
        return [(int(np.rint(at)), 1.0)]
    low = math.floor(at)
    part = at - low
    if method == "bilinear":
        return [(low, 1 - part), (low + 1, part)]
    weights = [_cubic(abs(part + 1 - k)) for k in range(4)]
    return [(low - 1 + k, w) for k, w in enumerate(weights)]


def _cubic(d: float, a: float = -0.75) -> float:
    """Keys' weight of an element at a distance."""
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def _sample(data: Any, grid: Any, method: str, padding_mode: str, align: bool) -> Any:
    dims = data.ndim - 2
    sizes = data.shape[2:]
    result = np.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    for n, *at in np.ndindex(data.shape[0], *grid.shape[2:]):
        rows = []
        for k, size in enumerate(sizes):
            g = float(grid[index_tuple(n, dims - 1 - k, *at)])
            spot = (g + 1) * (size - 1) / 2 if align else ((g + 1) * size - 1) / 2
            if method != "bicubic":
                spot = _inside(spot, size, padding_mode, align)
            rows.append(_taps(spot, method))
        total = np.zeros(data.shape[1])
        for corner in product(*rows):
            where = [
                round(_inside(float(i), s, padding_mode, align)) for (i, _), s in zip(corner, sizes)
            ]
            if all(0 <= i < s for i, s in zip(where, sizes)):
                weight = math.prod(w for _, w in corner)
                total += weight * data[index_tuple(n, slice(None), *where)]
        result[index_tuple(n, slice(None), *at)] = total
    return result


def grid_sample_2d(
    data: np.ndarray[Any, Any], grid: np.ndarray[Any, Any], method: str = "bilinear",
    layout: str = "NCHW", padding_mode: str = "zeros", align_corners: bool = True,
) -> Any:  # fmt: skip
    """(n, c, h, w), (n, 2, oh, ow) -> (n, c, oh, ow)"""
    return _sample(data, grid, method, padding_mode, align_corners)


def grid_sample_3d(
    data: np.ndarray[Any, Any], grid: np.ndarray[Any, Any], method: str = "bilinear",
    layout: str = "NCDHW", padding_mode: str = "zeros", align_corners: bool = True,
) -> Any:  # fmt: skip
    """(n, c, d, h, w), (n, 3, od, oh, ow) -> (n, c, od, oh, ow)"""
    return _sample(data, grid, method, padding_mode, align_corners)


def grid_sample_python(
    data: np.ndarray[Any, Any], grid: np.ndarray[Any, Any], method: str = "bilinear",
    layout: str = "NCHW", padding_mode: str = "zeros", align_corners: bool = True,
) -> Any:  # fmt: skip
    """`grid_sample_2d` or `grid_sample_3d`, by the layout."""
    rule = grid_sample_3d if layout == "NCDHW" else grid_sample_2d
    return rule(data, grid, method, layout, padding_mode, align_corners)
