"""The gradient of pooling."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np


def pool_grad_nchw(
    a_np: Any, out_grad_np: Any, pool_size: Any, strides: Any, padding: Any, pool_type: str,
    ceil_mode: bool, count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """Each window hands its gradient to its largest element, or to all of them in equal parts."""
    (kh, kw), (sh, sw) = pool_size, strides
    top, left, down, right = padding
    n, c, h, w = a_np.shape
    extra = (sh - 1, sw - 1) if ceil_mode else (0, 0)
    fill = -np.inf if pool_type == "max" else 0
    amounts = [(0, 0), (0, 0), (top, down + extra[0]), (left, right + extra[1])]
    padded = np.pad(a_np, amounts, constant_values=fill)
    grad = np.zeros_like(padded, dtype=a_np.dtype)
    for y, x in product(range(out_grad_np.shape[2]), range(out_grad_np.shape[3])):
        rows, columns = slice(y * sh, y * sh + kh), slice(x * sw, x * sw + kw)
        own = out_grad_np[:, :, y, x]
        if pool_type == "avg":
            size = _window_size((rows, columns), (h, w), padding, count_include_pad)
            grad[:, :, rows, columns] += (own / size)[:, :, None, None]
            continue
        window = padded[:, :, rows, columns]
        for b, k in np.ndindex(n, c):
            at = np.unravel_index(window[b, k].argmax(), window[b, k].shape)
            grad[b, k, rows.start + at[0], columns.start + at[1]] += own[b, k]
    return grad[:, :, top : top + h, left : left + w]


def _window_size(window: Any, sizes: Any, padding: Any, with_padding: bool) -> int:
    """How many elements a window counts."""
    total = 1
    for part, n, low, high in zip(window, sizes, padding[:2], padding[2:]):
        start, stop = part.start - low, part.stop - low
        if with_padding:
            stop = min(stop, n + high)
        else:
            start, stop = max(start, 0), min(stop, n)
        total *= max(stop - start, 0)
    return max(total, 1)
