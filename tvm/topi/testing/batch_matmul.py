"""Products of stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np


def batch_matmul(
    x: Any, y: Any, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True
) -> Any:
    """(b, m, k), (b, n, k) -> (b, m, n); a batch of one is repeated."""
    a = np.swapaxes(x, 1, 2) if trans_x else x
    b = np.swapaxes(y, 1, 2) if trans_y else y
    kind = out_dtype or x.dtype
    return np.matmul(a.astype(kind), b.astype(kind))
