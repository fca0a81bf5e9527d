"""Convolutions in numpy by their definition, channels first, in any number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from tvm.topi.nn.utils import get_pad_tuple_generic

Array = Any


def index_tuple(*parts: Any) -> tuple[Any, ...]:
    """An index with unpacked parts."""
    return parts


def several(value: Any, count: int) -> list[int]:
    """One number for each dimension."""
    return [int(v) for v in value] if isinstance(value, (tuple, list)) else [int(value)] * count


def convolve(
    x: Array, w: Array, stride: Any, padding: Any, groups: int = 1, dilation: Any = 1
) -> Array:
    """(n, c, ...), (o, c / groups, ...) -> (n, o, ...)"""
    dims = x.ndim - 2
    strides, dilations = several(stride, dims), several(dilation, dims)
    windows = w.shape[2:]
    before, after = get_pad_tuple_generic(
        list(padding) if isinstance(padding, tuple) else padding,
        [(k - 1) * d + 1 for k, d in zip(windows, dilations)],
    )
    x = np.pad(x, [(0, 0), (0, 0), *zip(before, after)])
    outs = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[2:], windows, dilations, strides)
    ]
    kind = np.result_type(x.dtype, w.dtype)
    result = np.zeros((x.shape[0], w.shape[0], *outs), kind)
    each = w.shape[0] // groups
    for tap in product(*map(range, windows)):
        part = x[index_tuple(slice(None), slice(None), *_steps(tap, dilations, outs, strides))]
        for g in range(groups):
            own = w[index_tuple(slice(g * each, (g + 1) * each), slice(None), *tap)]
            channels = part[:, g * w.shape[1] : (g + 1) * w.shape[1]]
            result[:, g * each : (g + 1) * each] += np.einsum("nc...,oc->no...", channels, own)
    return result


def _steps(
    tap: Sequence[int], dilations: Sequence[int], outs: Sequence[int], strides: Sequence[int]
) -> list[slice]:
    return [
        slice(t * d, t * d + (o - 1) * s + 1, s)
        for t, d, o, s in zip(tap, dilations, outs, strides)
    ]


def convolve_transposed(
    x: Array, w: Array, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> Array:
    """(n, c, ...), (c, o / groups, ...) -> (n, o, ...): each input element adds its kernel."""
    dims = x.ndim - 2
    strides, extra = several(stride, dims), several(output_padding, dims)
    windows = w.shape[2:]
    before, after = get_pad_tuple_generic(
        list(padding) if isinstance(padding, tuple) else padding, windows
    )
    outs = [(n - 1) * s + k + e for n, s, k, e in zip(x.shape[2:], strides, windows, extra)]
    each, own = x.shape[1] // groups, w.shape[1]
    whole = np.zeros((x.shape[0], own * groups, *outs), np.result_type(x.dtype, w.dtype))
    for at in np.ndindex(*x.shape[2:]):
        reach = tuple(slice(i * s, i * s + k) for i, s, k in zip(at, strides, windows))
        for g in range(groups):
            value = x[index_tuple(slice(None), slice(g * each, (g + 1) * each), *at)]
            kernel = w[g * each : (g + 1) * each]
            goal = index_tuple(slice(None), slice(g * own, (g + 1) * own), *reach)
            whole[goal] += np.einsum("nc,co...->no...", value, kernel)
    kept = tuple(slice(b, n - a) for b, a, n in zip(before, after, outs))
    return whole[index_tuple(slice(None), slice(None), *kept)]
