"""Correlation of two feature maps."""

from __future__ import annotations

from typing import Any

import numpy as np


def correlation_nchw_python(
    data1: Any, data2: Any, kernel_size: int, max_displacement: int, stride1: int, stride2: int,
    padding: int, is_multiply: bool,
) -> Any:  # fmt: skip
    """(n, c, h, w), (n, c, h, w) -> (n, displacements, oh, ow)"""
    amounts = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    a, b = np.pad(data1, amounts), np.pad(data2, amounts)
    border = max_displacement + (kernel_size - 1) // 2
    reach = max_displacement // stride2
    side = 2 * reach + 1
    rows, columns = (-(-(n - 2 * border) // stride1) for n in a.shape[2:])
    result = np.zeros((a.shape[0], side * side, rows, columns), data1.dtype)
    join = np.multiply if is_multiply else lambda x, y: np.abs(x - y)
    k = kernel_size
    for q, i, j in np.ndindex(side * side, rows, columns):
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        yy, xx = y + (q // side - reach) * stride2, x + (q % side - reach) * stride2
        pair = join(a[:, :, y : y + k, x : x + k], b[:, :, yy : yy + k, xx : xx + k])
        result[:, q, i, j] = pair.mean((1, 2, 3))
    return result
