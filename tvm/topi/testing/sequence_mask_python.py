"""Masks beyond the end of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np


def sequence_mask(data: Any, valid_length: Any, mask_value: float, axis: int) -> Any:
    """`mask_value` beyond the valid length; axis 0 or 1 runs along a sequence."""
    first = data if axis == 0 else np.swapaxes(data, 0, 1)
    steps = np.arange(first.shape[0])[:, None]
    beyond = (steps >= valid_length).reshape(*first.shape[:2], *[1] * (data.ndim - 2))
    masked = np.where(beyond, mask_value, first).astype(data.dtype)
    return masked if axis == 0 else np.swapaxes(masked, 0, 1)
