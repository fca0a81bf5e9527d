"""Instance normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np


def instance_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes for each instance; scale and shift belong to axis 1."""
    axes = tuple(int(a) for a in np.atleast_1d(axis))
    mean, var = data.mean(axes, keepdims=True), data.var(axes, keepdims=True)
    out = (data - mean) / np.sqrt(var + epsilon)
    own = [-1 if k == 1 else 1 for k in range(data.ndim)]
    return out * gamma.reshape(own) + beta.reshape(own)
