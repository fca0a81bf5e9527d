"""One-dimensional convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .convolution import convolve


def dilate_np(x: Any, dilation: int) -> Any:
    """Zeros between the elements of the last axis."""
    if dilation == 1:
        return x
    result = np.zeros((*x.shape[:-1], (x.shape[-1] - 1) * dilation + 1), x.dtype)
    result[..., ::dilation] = x
    return result


def group_conv1d_ncw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """(n, c, w), (o, c / groups, k) -> (n, o, ow)"""
    return convolve(a_np, w_np, stride, padding, groups, dilation)


def conv1d_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """(n, c, w), (o, c, k) -> (n, o, ow)"""
    return convolve(a_np, w_np, stride, padding, 1, dilation)
