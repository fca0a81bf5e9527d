"""Group normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def group_norm_python(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalised over axes and the channels of each group."""
    channel = channel_axis % data.ndim
    shape = data.shape
    split = data.reshape(
        *shape[:channel], num_groups, shape[channel] // num_groups, *shape[channel + 1 :]
    )
    others = {a % data.ndim for a in axes} - {channel}
    reduced = (channel + 1, *(a if a < channel else a + 1 for a in sorted(others)))
    mean, var = split.mean(reduced, keepdims=True), split.var(reduced, keepdims=True)
    out = ((split - mean) / np.sqrt(var + epsilon)).reshape(shape)
    own = [-1 if k == channel else 1 for k in range(data.ndim)]
    if gamma is not None:
        out = out * gamma.reshape(own)
    return out if beta is None else out + beta.reshape(own)
