"""Three-dimensional convolution, channels first."""

from __future__ import annotations

from typing import Any

from .convolution import convolve


def conv3d_ncdhw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """(n, c, d, h, w), (o, c / groups, kd, kh, kw) -> (n, o, od, oh, ow)"""
    return convolve(a_np, w_np, stride, padding, groups)
