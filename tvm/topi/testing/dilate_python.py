"""Room between the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def dilate_python(
    input_np: Any, strides: Sequence[int], dilation_value: float = 0.0, out_dtype: Any = None
) -> Any:
    """The elements `strides` apart, `dilation_value` in between."""
    assert len(strides) == input_np.ndim, "one stride for each dimension"
    shape = [(n - 1) * s + 1 for n, s in zip(input_np.shape, strides)]
    result = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    result[tuple(slice(None, None, s) for s in strides)] = input_np
    return result
