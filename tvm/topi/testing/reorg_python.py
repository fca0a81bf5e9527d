"""Space as channels, in the order of the Darknet framework."""

from __future__ import annotations

from typing import Any

import numpy as np


def reorg_python(a_np: Any, stride: int) -> Any:
    """(n, c, h, w) -> (n, c * s * s, h / s, w / s)"""
    n, c, h, w = a_np.shape
    own = c // (stride * stride)
    flat = np.zeros(a_np.size, a_np.dtype)
    for b, k, j, i in np.ndindex(n, c, h, w):
        inner, offset = k % own, k // own
        x, y = i * stride + offset % stride, j * stride + offset // stride
        source = x + w * stride * (y + h * stride * (inner + own * b))
        flat[i + w * (j + h * (k + c * b))] = a_np.reshape(-1)[source]
    return flat.reshape(n, c * stride * stride, h // stride, w // stride)
