"""The range to keep so that as little as possible is lost by rounding it to few steps.

The distribution of the values, cut to a range and rounded, is compared with the one before by
relative entropy (Kullback and Leibler).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _find_scale_by_kl(
    arr: Any, quantized_dtype: str = "int8", num_bins: int = 8001, num_quantized_bins: int = 255
) -> float:
    """The greatest magnitude to keep of the values of an array."""
    assert isinstance(arr, np.ndarray), "values of a tensor"
    low, high = float(np.min(arr)), float(np.max(arr))
    bound = max(abs(low), abs(high))
    if low >= 0 and quantized_dtype == "uint8":
        num_quantized_bins = num_quantized_bins * 2 + 1
    counts, edges = np.histogram(arr, bins=num_bins, range=(-bound, bound))
    return find_scale(counts, edges, num_quantized_bins)


def find_scale(counts: Any, edges: Any, steps: int) -> float:
    """As `_find_scale_by_kl`, of a histogram around zero."""
    middle = len(counts) // 2
    best, found = np.inf, float(edges[-1])
    for half in range(steps // 2, middle + 1):
        start, stop = middle - half, middle + half + 1
        loss = _loss(counts, start, stop, steps)
        if loss < best:
            best, found = loss, float(edges[min(stop, len(edges) - 1)])
    return found


def _loss(counts: Any, start: int, stop: int, steps: int) -> float:
    """What is lost by cutting to [start, stop) and rounding to some steps.

    All of it in float32, summed from left to right: neighbours lose so nearly the same that the
    rounding of these sums chooses between them, and it has to choose as TVM's does.
    """
    kept = counts[start:stop].astype("float64")
    cut = kept.copy()
    kept[0] = 0  # the lowest bin holds what was cut off: no step stands for it
    cut[0] += counts[:start].sum()
    cut[-1] += counts[stop:].sum()
    width = len(kept) // steps
    bin_of = np.minimum(np.arange(len(kept)) // width, steps - 1)
    sums = np.bincount(bin_of, kept, steps).astype("float32")
    used = np.bincount(bin_of, kept != 0, steps).astype("float32")
    mean = np.divide(sums, used, out=np.zeros_like(sums), where=used > 0)
    p = _smoothed(cut.astype("float32"))
    q = _smoothed(np.where(cut != 0, mean[bin_of], np.float32(0)))
    if p is None or q is None:
        return float(np.inf)
    p, q = p / _sum(p), q / _sum(q)
    return float(_sum(p * np.log(p / q)))


def _sum(values: Any) -> Any:
    return np.cumsum(values, dtype="float32")[-1]


def _smoothed(values: Any, least: float = 1e-4) -> Any:
    """The distribution without zeros: what they get is taken from the others."""
    zero = values == 0
    others = int((~zero).sum())
    if others == 0:
        return None
    taken = np.float32(least * int(zero.sum())) / np.float32(others)
    return None if taken >= 1 else np.where(zero, np.float32(least), values - taken)
