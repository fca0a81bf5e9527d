"""Batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np


def batch_norm(
    x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int, epsilon: float,
    center: bool, scale: bool, training: bool, momentum: float,
) -> list[Any]:  # fmt: skip
    """The normalised data, and the moving mean and variance that follow."""
    shape = [-1 if k == axis % x.ndim else 1 for k in range(x.ndim)]
    mean, var = moving_mean, moving_var
    if training:
        others = tuple(k for k in range(x.ndim) if k != axis % x.ndim)
        mean, var = x.mean(others), x.var(others)
    out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + epsilon)
    if scale:
        out = out * gamma.reshape(shape)
    if center:
        out = out + beta.reshape(shape)
    if not training:
        return [out, moving_mean, moving_var]
    kept = 1 - momentum
    return [out, kept * moving_mean + momentum * mean, kept * moving_var + momentum * var]
