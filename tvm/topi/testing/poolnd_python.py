"""Pooling, one window after the other."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from .convolution import index_tuple


def get_slice(
    spatial_dimensions: int, pad_np: Any, dim_coord: tuple[int], kernel: tuple[int],
    strides: tuple[int], dilation: tuple[int],
) -> list[slice]:  # fmt: skip
    """The window at an output index, in the padded tensor."""
    window = [slice(None)] * (pad_np.ndim - spatial_dimensions)
    for at, k, s, d in zip(dim_coord, kernel, strides, dilation):
        window.append(slice(at * s, at * s + (k - 1) * d + 1, d))
    return window


def pad_tensor(
    np_arr: Any, pad_value: float, padding_before: list[int], padding_after: list[int], dtype: str
) -> Any:
    """The tensor with a value around its last dimensions."""
    lead = np_arr.ndim - len(padding_before)
    amounts = [(0, 0)] * lead + list(zip(padding_before, padding_after))
    return np.pad(np_arr, amounts, constant_values=pad_value).astype(dtype)


def poolnd_python(
    np_data: Any, kernel: tuple[int], strides: tuple[int], dilation: tuple[int],
    padding_before: tuple[int], padding_after: tuple[int], pool_type: str,
    count_include_pad: bool = True, ceil_mode: bool = False, dtype: str = "float32",
    layout: str | None = None,
) -> Any:  # fmt: skip
    """Windows over the axes D, H, W of the layout, over the last ones without a layout."""
    dims = len(kernel)
    if layout is not None and layout[1] != "C":
        first = np.moveaxis(np_data, -1, 1)
        result = poolnd_python(
            first, kernel, strides, dilation, padding_before, padding_after, pool_type,
            count_include_pad, ceil_mode, dtype,
        )  # fmt: skip
        return np.moveaxis(result, 1, -1)
    sizes = np_data.shape[-dims:]
    rounded = math.ceil if ceil_mode else math.floor
    outs = [
        int(rounded((n - (k - 1) * d - 1 + b + a) / s + 1))
        for n, k, d, b, a, s in zip(sizes, kernel, dilation, padding_before, padding_after, strides)
    ]
    # windows of the last row may reach beyond the padding
    room = [s - 1 if ceil_mode else 0 for s in strides]
    after = [a + r for a, r in zip(padding_after, room)]
    worst = float(np.finfo(dtype).min if "float" in dtype else np.iinfo(dtype).min)
    fill = worst if pool_type == "max" else 0.0
    padded = pad_tensor(np_data, fill, list(padding_before), after, dtype)
    counted = pad_tensor(
        np.ones(sizes),
        1 if count_include_pad else 0,
        list(padding_before),
        list(padding_after),
        dtype,
    )
    counted = pad_tensor(counted, 0, [0] * dims, room, dtype)
    result = np.zeros((*np_data.shape[:-dims], *outs), dtype)
    axes = tuple(range(-dims, 0))
    for at in product(*map(range, outs)):
        window = padded[tuple(get_slice(dims, padded, at, kernel, strides, dilation))]  # type: ignore[arg-type]
        goal = index_tuple(..., *at)
        if pool_type == "max":
            result[goal] = window.max(axes)
            continue
        size = counted[tuple(get_slice(dims, counted, at, kernel, strides, dilation))].sum()  # type: ignore[arg-type]
        result[goal] = window.sum(axes) / max(size, 1)
    return result
