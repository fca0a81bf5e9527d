"""Local response normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np


def lrn_python(a_np: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> Any:
    """x / (bias + alpha / size * sum of squares of `size` neighbours along an axis) ** beta"""
    half = size // 2
    room = [(half, half) if k == axis else (0, 0) for k in range(a_np.ndim)]
    squares = np.pad(a_np * a_np, room)
    total = sum(np.take(squares, range(k, k + a_np.shape[axis]), axis) for k in range(size))
    return a_np / (bias + alpha / size * total) ** beta
