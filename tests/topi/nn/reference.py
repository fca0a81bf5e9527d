"""Convolutions in numpy, by their definition."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np


def per_axis(value: Any, count: int) -> list[int]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * count


def conv_reference(x: Any, w: Any, stride: Any, pads: Any, dilation: Any, groups: int) -> Any:
    """Channels first, any number of dimensions; `pads` is (before, after)."""
    dims = x.ndim - 2
    strides, dilations = per_axis(stride, dims), per_axis(dilation, dims)
    x = np.pad(x, [(0, 0), (0, 0), *zip(*pads)])
    windows = w.shape[2:]
    outs = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[2:], windows, dilations, strides)
    ]
    result = np.zeros((x.shape[0], w.shape[0], *outs), "float64")
    each = w.shape[0] // groups
    for tap in product(*map(range, windows)):
        place = [slice(t * d, t * d + (o - 1) * s + 1, s)
                 for t, d, o, s in zip(tap, dilations, outs, strides)]  # fmt: skip
        part = x[(slice(None), slice(None), *place)]
        for g in range(groups):
            own = w[(slice(g * each, (g + 1) * each), slice(None), *tap)]
            channels = part[:, g * w.shape[1] : (g + 1) * w.shape[1]]
            result[:, g * each : (g + 1) * each] += np.einsum("nc...,oc->no...", channels, own)
    return result


def conv_transpose_reference(x: Any, w: Any, stride: Any, groups: int = 1) -> Any:
    """Channels first, without padding: each input element adds its kernel."""
    dims = x.ndim - 2
    strides = per_axis(stride, dims)
    windows = w.shape[2:]
    outs = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, windows)]
    each, own = x.shape[1] // groups, w.shape[1]
    result = np.zeros((x.shape[0], own * groups, *outs), "float64")
    for at in np.ndindex(*x.shape[2:]):
        place = tuple(slice(i * s, i * s + k) for i, s, k in zip(at, strides, windows))
        for g in range(groups):
            value = x[(slice(None), slice(g * each, (g + 1) * each), *at)]
            kernel = w[g * each : (g + 1) * each]
            goal = (slice(None), slice(g * own, (g + 1) * own), *place)
            result[goal] += np.einsum("nc,co...->no...", value, kernel)
    return result
