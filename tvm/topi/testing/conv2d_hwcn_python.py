"""Two-dimensional convolution, batches last."""

from __future__ import annotations

from typing import Any

from .convolution import convolve


def conv2d_hwcn_python(a_np: Any, w_np: Any, stride: Any, padding: Any) -> Any:
    """(h, w, c, n), (kh, kw, c, o) -> (oh, ow, o, n)"""
    first = convolve(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return first.transpose(2, 3, 1, 0)
