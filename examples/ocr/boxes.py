"""Turned rectangles around what a map of probabilities marks as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
THRESHOLD, MIN_SCORE, GROWTH, MIN_SIDE = 0.3, 0.5, 1.6, 3.0


def text_boxes(scores: NDArray[np.float32]) -> list[Floats]:
    """Corners (4, 2) as x, y of each piece of text, clockwise from the upper left.   (h, w)"""
    found = []
    for rows, columns in regions(scores > THRESHOLD):
        if scores[rows, columns].mean() < MIN_SCORE:
            continue
        box = smallest_rectangle(np.stack([columns, rows], 1).astype(float))
        if min(_sides(box)) < MIN_SIDE:
            continue
        found.append(grown(box))
    return sorted(found, key=lambda box: (round(box[:, 1].min() / 12), box[:, 0].min()))


def regions(mask: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and columns of the elements of each connected part (eight neighbours)."""
    starts, ends, lines = _runs(mask)
    parent = list(range(len(starts)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    above = 0
    for i in range(len(starts)):
        while above < i and (
            lines[above] < lines[i] - 1
            or (lines[above] == lines[i] - 1 and ends[above] < starts[i])
        ):
            above += 1
        k = above
        while k < i and lines[k] == lines[i] - 1 and starts[k] <= ends[i]:
            parent[root(i)] = root(k)
            k += 1
    groups: dict[int, list[int]] = {}
    for i in range(len(starts)):
        groups.setdefault(root(i), []).append(i)
    for members in groups.values():
        columns = [np.arange(starts[i], ends[i]) for i in members]
        rows = [np.full(len(part), lines[i]) for part, i in zip(columns, members)]
        yield np.concatenate(rows), np.concatenate(columns)


def _runs(mask: NDArray[np.bool_]) -> tuple[list[int], list[int], list[int]]:
    """Where each run of marked elements in a line starts, where it ends, and its line."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    lines, starts = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    return starts.tolist(), ends.tolist(), lines.tolist()


def smallest_rectangle(points: Floats) -> Floats:
    """The corners of the rectangle of the smallest area around points; a side lies on the hull."""
    hull = convex_hull(points)
    edges = np.roll(hull, -1, 0) - hull
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    best: tuple[float, Floats] | None = None
    for (x, y), length in zip(edges, lengths):
        turn = np.array([[x, y], [-y, x]]) / length if length else np.eye(2)
        turned = hull @ turn.T
        low, high = turned.min(0), turned.max(0)
        area = float(np.prod(high - low))
        if best is None or area < best[0]:
            corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
            best = area, corners @ turn
    assert best is not None, "there is at least one point"
    return _in_order(best[1])


def convex_hull(points: Floats) -> Floats:
    """The corners of the hull, in a circle (Andrew's monotone chain, 1979)."""
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered

    def chain(side: Floats) -> list[Floats]:
        kept: list[Floats] = []
        for point in side:
            while len(kept) > 1 and _turns_right(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turns_right(a: Floats, b: Floats, c: Floats) -> bool:
    return bool((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0)


def _in_order(corners: Floats) -> Floats:
    """Clockwise from the upper left."""
    by_x = corners[np.argsort(corners[:, 0], kind="stable")]
    left, right = (side[np.argsort(side[:, 1], kind="stable")] for side in (by_x[:2], by_x[2:]))
    return np.array([left[0], right[0], right[1], left[1]])


def _sides(box: Floats) -> tuple[float, float]:
    return float(np.hypot(*(box[1] - box[0]))), float(np.hypot(*(box[3] - box[0])))


def grown(box: Floats) -> Floats:
    """The rectangle moved out on all sides: the map marks the core of the text only."""
    width, height = _sides(box)
    distance = width * height * GROWTH / (2 * (width + height))
    across, down = (box[1] - box[0]) / width, (box[3] - box[0]) / height
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return box + distance * (signs[:, :1] * across + signs[:, 1:] * down)
