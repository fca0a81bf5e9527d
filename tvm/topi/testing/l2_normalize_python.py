"""Vectors of length one."""

from __future__ import annotations

from typing import Any

import numpy as np


def l2_normalize_python(a_np: Any, eps: float, axis: Any = None) -> Any:
    """x / sqrt(max(sum(x * x), eps)) along axes."""
    along = None if axis is None else tuple(axis) if isinstance(axis, (list, tuple)) else axis
    total = (a_np.astype(float) ** 2).sum(along, keepdims=True)
    return a_np / np.sqrt(np.maximum(total, eps))
