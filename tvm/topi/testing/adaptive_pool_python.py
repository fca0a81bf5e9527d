"""Pooling into a given number of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from .convolution import index_tuple


def adaptive_pool_channel_first(
    np_data: Any, out_size: Sequence[int], pool_op: str, np_op: Callable[..., Any]
) -> Any:
    """(n, c, ...) -> (n, c, *out_size)"""
    sizes = np_data.shape[2:]
    result = np.zeros((*np_data.shape[:2], *out_size), np_data.dtype)
    axes = tuple(range(2, np_data.ndim))
    for at in product(*map(range, out_size)):
        window = tuple(
            slice(a * n // o, -(-(a + 1) * n // o)) for a, n, o in zip(at, sizes, out_size)
        )
        result[index_tuple(slice(None), slice(None), *at)] = np_op(
            np_data[index_tuple(slice(None), slice(None), *window)], axis=axes
        )
    return result


def adaptive_pool_channel_last(
    np_data: Any, out_size: Sequence[int], pool_op: str, np_op: Callable[..., Any]
) -> Any:
    """(n, ..., c) -> (n, *out_size, c)"""
    first = adaptive_pool_channel_first(np.moveaxis(np_data, -1, 1), out_size, pool_op, np_op)
    return np.moveaxis(first, 1, -1)


def adaptive_pool(np_data: Any, out_size: Sequence[int], pool_type: str, layout: str) -> Any:
    """Max or mean over windows that cover the axes evenly."""
    np_op = np.mean if pool_type == "avg" else np.max
    if layout in ("NCHW", "NCDHW", "NCW"):
        return adaptive_pool_channel_first(np_data, out_size, pool_type, np_op)
    return adaptive_pool_channel_last(np_data, out_size, pool_type, np_op)
