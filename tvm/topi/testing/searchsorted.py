"""Indices in sorted rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: str) -> Any:
    """Where each value would be inserted in its row, or in the only row."""
    side: Literal["left", "right"] = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side=side).astype(out_dtype)
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    wanted = values.reshape(-1, values.shape[-1])
    found = [np.searchsorted(r, v, side=side) for r, v in zip(rows, wanted)]
    return np.stack(found).reshape(values.shape).astype(out_dtype)
