"""A dense layer."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense(
    x: Any, y: Any, bias: Any, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None
) -> Any:
    """x times the transposed y, with bias and relu on demand."""
    kind = out_dtype or x.dtype
    result = np.dot(x.astype(kind), y.T.astype(kind))
    if use_bias:
        result = result + bias
    return np.maximum(result, 0) if use_relu else result
