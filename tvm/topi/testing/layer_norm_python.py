"""Layer normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np


def layer_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes, which scale and shift have too; in float32."""
    kind = data.dtype
    x = data.astype("float32")
    axes = tuple(int(a) % data.ndim for a in np.atleast_1d(axis))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    out = ((x - mean) / np.sqrt(var + epsilon)).astype(kind)
    own = [n if k in axes else 1 for k, n in enumerate(data.shape)]
    out = out * gamma.reshape(own)
    return out if beta is None else out + beta.reshape(own)
