"""Data types as numpy has them, with the small floats of ml_dtypes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tvm.error import DTypeError
from tvm.support.dtype import DataType


@cache
def numpy_dtype(dtype: DataType) -> np.dtype[Any]:
    """The numpy type of one element of `dtype`."""
    name = str(dtype.element_of())
    try:
        return np.dtype(name)
    except TypeError:
        pass
    import ml_dtypes  # 20 ms to load, and rarely needed

    small = getattr(ml_dtypes, name, None)
    if small is None:
        raise DTypeError(f"numpy has no data type {name!r}, nor has ml_dtypes")
    found: np.dtype[Any] = np.dtype(small)
    return found
