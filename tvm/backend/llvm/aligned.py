"""Memory at the alignment that compiled code is promised for constants."""

from __future__ import annotations

from typing import Any, Final

CONSTANT_ALIGNMENT: Final = 64  # bytes: a cache line, and the widest vector


def aligned_copy(data: bytes) -> Any:
    """The constants on a cache line."""
    import numpy as np  # only where constants are moved

    memory = np.zeros(len(data) + CONSTANT_ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % CONSTANT_ALIGNMENT
    view = memory[start : start + len(data)]
    view[:] = np.frombuffer(data, np.uint8)
    return view
