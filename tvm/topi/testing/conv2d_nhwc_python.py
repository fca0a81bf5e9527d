"""Two-dimensional convolution, channels last."""

from __future__ import annotations

from typing import Any

from .convolution import convolve


def conv2d_nhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """(n, h, w, c), (kh, kw, c / groups, o) -> (n, oh, ow, o)"""
    first = convolve(
        a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups
    )
    return first.transpose(0, 2, 3, 1)
