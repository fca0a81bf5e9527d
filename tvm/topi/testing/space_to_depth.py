"""Blocks of space as channels."""

from __future__ import annotations

from typing import Any


def space_to_depth_python(data: Any, block_size: int) -> Any:
    """(n, c, h, w) -> (n, c * b * b, h / b, w / b)"""
    n, c, h, w = data.shape
    b = block_size
    split = data.reshape(n, c, h // b, b, w // b, b)
    return split.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)
