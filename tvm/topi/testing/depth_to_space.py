"""Channels as blocks of space."""

from __future__ import annotations

from typing import Any


def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> Any:
    """(n, c * b * b, h, w) -> (n, c, h * b, w * b)"""
    n, c, h, w = data.shape
    b = block_size
    own = c // (b * b)
    if mode == "DCR":
        moved = data.reshape(n, b, b, own, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = data.reshape(n, own, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return moved.reshape(n, own, h * b, w * b)
