"""Pictures as arrays (h, w, 3) of bytes: resized, cut out, drawn on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Floats = NDArray[np.float64]


def resized(picture: Picture, height: int, width: int) -> Picture:
    """Another size, by means of the four nearest elements."""
    ys = (np.arange(height) + 0.5) * picture.shape[0] / height - 0.5
    xs = (np.arange(width) + 0.5) * picture.shape[1] / width - 0.5
    grid = np.stack(np.meshgrid(xs, ys), -1)
    return sampled(picture, grid)


def sampled(picture: Picture, places: Floats) -> Picture:
    """The picture at places (h, w, 2) given as x, y; beyond the edge it goes on as there."""
    high = np.array([picture.shape[1] - 1, picture.shape[0] - 1])
    places = np.clip(places, 0, high)
    low = np.minimum(places.astype(np.int64), np.maximum(high - 1, 0))
    part = (places - low).astype(np.float32)
    x, y = low[..., 0], low[..., 1]
    right, under = np.minimum(x + 1, high[0]), np.minimum(y + 1, high[1])
    across, down = part[..., :1], part[..., 1:]
    top = picture[y, x] * (1 - across) + picture[y, right] * across
    bottom = picture[under, x] * (1 - across) + picture[under, right] * across
    return np.asarray(np.round(top * (1 - down) + bottom * down), np.uint8)


def cut_out(picture: Picture, box: Floats) -> Picture:
    """What is in a turned rectangle, upright; a tall one is turned, as text runs along it."""
    width = max(round(float(np.hypot(*(box[1] - box[0])))), 1)
    height = max(round(float(np.hypot(*(box[3] - box[0])))), 1)
    across = (np.arange(width) + 0.5)[None, :, None] / width
    down = (np.arange(height) + 0.5)[:, None, None] / height
    places = box[0] + across * (box[1] - box[0]) + down * (box[3] - box[0]) - 0.5
    found = sampled(picture, places)
    return np.rot90(found) if height >= 1.5 * width else found


def with_boxes(picture: Picture, boxes: Sequence[Floats]) -> Picture:
    """The picture with the outlines of rectangles."""
    drawn = picture.copy()
    for box in boxes:
        for a, b in zip(box, np.roll(box, -1, 0)):
            count = int(np.abs(b - a).max()) + 2
            line = np.linspace(a, b, count)
            for shift in ((0, 0), (1, 0), (0, 1)):
                x, y = np.round(line + shift).astype(int).T
                inside = (x >= 0) & (x < drawn.shape[1]) & (y >= 0) & (y < drawn.shape[0])
                drawn[y[inside], x[inside]] = (220, 30, 30)
    return drawn
