"""One-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from .convolution import convolve_transposed


def group_conv1d_transpose_ncw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> Any:
    """(n, c, w), (c, o / groups, k) -> (n, o, ow)"""
    return convolve_transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv1d_transpose_ncw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any
) -> Any:
    """(n, c, w), (c, o, k) -> (n, o, ow)"""
    return convolve_transposed(a_np, w_np, stride, padding, output_padding)
