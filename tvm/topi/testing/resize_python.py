"""Pictures in another size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np


def get_inx(
    x: int, image_width: int, target_width: int, coordinate_transformation_mode: str
) -> float:
    """The coordinate in the source of coordinate `x` in the result."""
    scale = image_width / target_width
    if coordinate_transformation_mode == "half_pixel":
        return (x + 0.5) * scale - 0.5
    if coordinate_transformation_mode == "align_corners":
        return (image_width - 1) / (target_width - 1) * x if target_width > 1 else 0.0
    if coordinate_transformation_mode == "asymmetric":
        return scale * x
    raise ValueError(
        f"Unsupported coordinate_transformation_mode: {coordinate_transformation_mode}; "
        "legal: half_pixel, align_corners, asymmetric"
    )


def get_index(
    x: float, image_width: int, target_width: int, coordinate_transformation_mode: str
) -> int:
    """The pixel at or before a coordinate; with corners aligned the nearest, halves up."""
    at = get_inx(int(x), image_width, target_width, coordinate_transformation_mode)
    if coordinate_transformation_mode == "align_corners":
        return math.floor(at + 0.5)
    return math.floor(at + 1e-5)


def _sizes(shape: Sequence[int], scale: Sequence[float]) -> list[int]:
    return [round(n * s) for n, s in zip(shape, scale)]


def _sampled(
    arr: Any, scale: Sequence[float], mode: str, taps: Callable[[float], list[tuple[int, float]]]
) -> Any:
    """Weighted sums of elements around each pixel; `taps` gives them along one axis."""
    outs = _sizes(arr.shape, scale)
    result = np.zeros(outs, "float64")
    rows = [[taps(get_inx(x, n, o, mode)) for x in range(o)] for n, o in zip(arr.shape, outs)]
    for at in product(*map(range, outs)):
        for corner in product(*[row[x] for row, x in zip(rows, at)]):
            weight = 1.0
            nearest = []
            for (index, part), n in zip(corner, arr.shape):
                weight *= part
                nearest.append(min(max(index, 0), n - 1))
            result[at] += weight * arr[tuple(nearest)]
    return result


def resize3d_nearest(arr: Any, scale: Sequence[float], coordinate_transformation_mode: str) -> Any:
    """The nearest element."""
    outs = _sizes(arr.shape, scale)
    coords = [
        [min(max(get_index(x, n, o, coordinate_transformation_mode), 0), n - 1) for x in range(o)]
        for n, o in zip(arr.shape, outs)
    ]
    return arr[np.ix_(*coords)]


def resize3d_linear(
    data_in: Any, scale: Sequence[float], coordinate_transformation_mode: str
) -> Any:
    """A mean of the two elements around a coordinate, along each axis."""

    def taps(at: float) -> list[tuple[int, float]]:
        low = math.floor(at)
        return [(low, 1 - (at - low)), (low + 1, at - low)]

    return _sampled(data_in, scale, coordinate_transformation_mode, taps)


def resize3d_cubic(
    data_in: Any, scale: Sequence[float], coordinate_transformation_mode: str
) -> Any:
    """Keys' cubic weights of four elements, along each axis; -0.5 is Relay's `cubic_alpha`."""
    a = -0.5

    def near(d: float) -> float:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1

    def far(d: float) -> float:
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a

    def taps(at: float) -> list[tuple[int, float]]:
        low = math.floor(at)
        part = at - low
        weights = [far(1 + part), near(part), near(1 - part), far(2 - part)]
        return [(low - 1 + k, w) for k, w in enumerate(weights)]

    return _sampled(data_in, scale, coordinate_transformation_mode, taps)


def resize3d_ncdhw(
    data: Any, scale: Sequence[float], method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Each channel of each volume resized."""
    rules = {
        "nearest_neighbor": resize3d_nearest,
        "linear": resize3d_linear,
        "cubic": resize3d_cubic,
    }
    if method not in rules:
        raise ValueError(f"Unknown resize method {method!r}; legal: {', '.join(rules)}")
    return np.stack(
        [
            np.stack([rules[method](c, scale, coordinate_transformation_mode) for c in image])
            for image in data
        ]
    ).astype(data.dtype)


def _first(data: Any, layout: str, channels_last: str) -> Any:
    return np.moveaxis(data, -1, 1) if layout == channels_last else data


def _back(data: Any, layout: str, channels_last: str) -> Any:
    return np.moveaxis(data, 1, -1) if layout == channels_last else data


def resize1d_python(
    data: Any, scale: Sequence[float], layout: str = "NCW", method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Rows in another length."""
    x = _first(data, layout, "NWC")[:, :, None, None]
    y = resize3d_ncdhw(x, (1, 1, *scale), method, coordinate_transformation_mode)[:, :, 0, 0]
    return _back(y, layout, "NWC")


def resize2d_python(
    data: Any, scale: Sequence[float], layout: str = "NCHW", method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Pictures in another size."""
    x = _first(data, layout, "NHWC")[:, :, None]
    y = resize3d_ncdhw(x, (1, *scale), method, coordinate_transformation_mode)[:, :, 0]
    return _back(y, layout, "NHWC")


def resize3d_python(
    data: Any, scale: Sequence[float], layout: str = "NCDHW", method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Any:  # fmt: skip
    """Volumes in another size."""
    x = _first(data, layout, "NDHWC")
    y = resize3d_ncdhw(x, scale, method, coordinate_transformation_mode)
    return _back(y, layout, "NDHWC")
