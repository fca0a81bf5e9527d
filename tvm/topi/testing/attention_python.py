"""Attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from .softmax_python import softmax_python


def attention_python(
    q: Any, k: Any, v: Any, bias: Any | None, qk_scale: float, causal: str,
    window_size: int | None = None, layout: str = "BSNH",
) -> Any:  # fmt: skip
    """softmax(q k^T * scale + bias) v, for each head.

    BSNH or BNSH; causal is "none", "TopLeft" or "BottomRight".
    """
    order = (0, 2, 1, 3) if layout == "BSNH" else (0, 1, 2, 3)
    queries, keys, values = (np.transpose(t, order) for t in (q, k, v))
    heads = queries.shape[1] // keys.shape[1]
    if heads > 1:  # several query heads share a key head
        keys, values = np.repeat(keys, heads, 1), np.repeat(values, heads, 1)
    scores = queries @ keys.swapaxes(2, 3) * qk_scale
    if bias is not None:
        scores = scores + bias
    rows, columns = scores.shape[-2:]
    if causal != "none":
        offset = columns - rows if causal == "BottomRight" else 0
        i, j = np.indices((rows, columns))
        allowed = j <= i + offset
        if window_size is not None:
            allowed &= j > i + offset - window_size
        scores = np.where(allowed, scores, -np.inf)
    shape = scores.shape
    weights = softmax_python(scores.reshape(-1, shape[-1]), axis=1).reshape(shape)
    return np.transpose(weights @ values, order)
