"""Two-dimensional convolution, channels first."""

from __future__ import annotations

from typing import Any

from .convolution import convolve


def conv2d_nchw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """(n, c, h, w), (o, c / groups, kh, kw) -> (n, o, oh, ow)"""
    return convolve(a_np, w_np, stride, padding, groups)
