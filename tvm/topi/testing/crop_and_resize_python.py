"""Boxes of pictures in one size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def crop_and_resize_python(
    image: Any, boxes: Any, box_indices: Any, crop_size: Sequence[int], layout: str,
    method: str = "bilinear", extrapolation_value: float = 0,
) -> Any:  # fmt: skip
    """Boxes (y0, x0, y1, x1, as fractions) resized; pixels outside take `extrapolation_value`."""
    first = image if layout == "NCHW" else np.moveaxis(image, -1, 1)
    (rows, columns), (h, w) = crop_size, first.shape[2:]
    result = np.zeros((len(boxes), first.shape[1], rows, columns), image.dtype)
    for b, (box, which) in enumerate(zip(boxes, box_indices)):
        for i, j in np.ndindex(rows, columns):
            y = _coordinate(i, rows, h, box[0], box[2])
            x = _coordinate(j, columns, w, box[1], box[3])
            if not (0 <= y <= h - 1 and 0 <= x <= w - 1):
                result[b, :, i, j] = extrapolation_value
            elif method == "nearest_neighbor":
                result[b, :, i, j] = first[which, :, round(y), round(x)]
            else:
                result[b, :, i, j] = _between(first[which], y, x)
    return result if layout == "NCHW" else np.moveaxis(result, 1, -1)


def _coordinate(i: int, count: int, size: int, low: float, high: float) -> float:
    if count == 1:
        return float(0.5 * (low + high) * (size - 1))
    return float(low * (size - 1) + i * (high - low) * (size - 1) / (count - 1))


def _between(picture: Any, y: float, x: float) -> Any:
    top, left = math.floor(y), math.floor(x)
    down, right = math.ceil(y), math.ceil(x)
    a, b = y - top, x - left
    above = picture[:, top, left] * (1 - b) + picture[:, top, right] * b
    below = picture[:, down, left] * (1 - b) + picture[:, down, right] * b
    return above * (1 - a) + below * a
