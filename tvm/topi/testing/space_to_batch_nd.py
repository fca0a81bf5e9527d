"""Blocks of space as batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def space_to_batch_nd_python(
    data: Any, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int],
    pad_value: float = 0,
) -> Any:  # fmt: skip
    """(n, h, w, ...) -> (n * bh * bw, h / bh, w / bw, ...), the space padded first."""
    count = len(block_shape)
    rest = data.ndim - 1 - count
    amounts = [(0, 0), *zip(pad_before, pad_after), *[(0, 0)] * rest]
    padded = np.pad(data, amounts, constant_values=pad_value)
    shape = [padded.shape[0]]
    for n, b in zip(padded.shape[1:], block_shape):
        shape += [n // b, b]
    split = padded.reshape(*shape, *padded.shape[1 + count :])
    blocks, spaces = [2 + 2 * k for k in range(count)], [1 + 2 * k for k in range(count)]
    order = [*blocks, 0, *spaces, *range(1 + 2 * count, split.ndim)]
    moved = split.transpose(order)
    return moved.reshape(-1, *moved.shape[1 + count :])
