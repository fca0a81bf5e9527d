"""The tile of a Winograd convolution over volumes."""

from __future__ import annotations

from typing import Any

from tvm.topi.utils import get_const_tuple


def _infer_tile_size(data: Any, kernel: Any) -> int:
    """Four where eight planes fit in evenly, else two."""
    return 4 if get_const_tuple(data.shape)[2] % 8 == 0 else 2
