"""Elements by indices along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np


def gather_python(data: Any, axis: int, indices: Any) -> Any:
    """out[i, j] = data[indices[i, j], j] for axis 0, and so for each axis."""
    grids = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grids[axis] = indices
    return data[tuple(grids)]
