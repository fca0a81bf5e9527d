"""Elements by whole indices."""

from __future__ import annotations

from typing import Any


def gather_nd_python(a_np: Any, indices_np: Any) -> Any:
    """a[indices[0], indices[1], ...]"""
    return a_np[tuple(indices_np.astype("int64"))]
