"""Normalisation by the root of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np


def rms_norm_python(data: Any, weight: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """x / sqrt(mean(x * x) + epsilon) * weight, in float32."""
    x = data.astype("float32")
    axes = tuple(int(a) % data.ndim for a in np.atleast_1d(axis))
    root = np.sqrt((x * x).mean(axes, keepdims=True) + epsilon)
    own = [n if k in axes else 1 for k, n in enumerate(data.shape)]
    return (x / root * weight.astype("float32").reshape(own)).astype(data.dtype)
