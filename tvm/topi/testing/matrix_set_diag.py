"""Diagonals replaced."""

from __future__ import annotations

from typing import Any

import numpy as np


def matrix_set_diag(input_np: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """The matrices with their k-th diagonals (or those from k[0] to k[1]) replaced."""
    low, high = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    out = np.array(input_np, copy=True)
    rows, columns = out.shape[-2:]
    one = low == high and diagonal.ndim == out.ndim - 1
    longest = diagonal.shape[-1]
    for d in range(low, high + 1):
        length = min(rows + min(d, 0), columns - max(d, 0))
        right = align.split("_")[0 if d >= 0 else 1] == "RIGHT"
        start = 0 if one or not right else longest - length
        values = diagonal if one else diagonal[..., high - d, :]
        for step in range(length):
            out[..., step - min(d, 0), step + max(d, 0)] = values[..., start + step]
    return out
