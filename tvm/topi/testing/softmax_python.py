"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np


def softmax_python(a_np: Any, axis: int = 1) -> Any:
    """exp(x) / sum(exp(x)) along an axis."""
    powers = np.exp(a_np - np.max(a_np, axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax_python(a_np: Any, axis: int = 1) -> Any:
    """x - log(sum(exp(x))) along an axis."""
    centred = a_np - np.max(a_np, axis, keepdims=True)
    return centred - np.log(np.exp(centred).sum(axis, keepdims=True))
