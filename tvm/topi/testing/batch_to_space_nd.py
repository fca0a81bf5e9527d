"""Batches as blocks of space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def batch_to_space_nd_python(
    data: Any, block_shape: Sequence[int], crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> Any:  # fmt: skip
    """(n * bh * bw, h, w, ...) -> (n, h * bh, w * bw, ...), then cropped."""
    count, total = len(block_shape), 1
    for b in block_shape:
        total *= b
    batch, space, rest = data.shape[0] // total, data.shape[1 : 1 + count], data.shape[1 + count :]
    split = data.reshape(*block_shape, batch, *space, *rest)
    order = [count]
    for k in range(count):
        order += [count + 1 + k, k]
    order += range(2 * count + 1, split.ndim)
    joined = split.transpose(order).reshape(
        batch, *(s * b for s, b in zip(space, block_shape)), *rest
    )
    kept = [slice(None)]
    for k in range(count):
        kept.append(slice(crop_begin_list[k], joined.shape[1 + k] - crop_end_list[k]))
    return joined[tuple(kept)]
