"""Three-dimensional transposed convolution."""

from __future__ import annotations

from typing import Any

from .convolution import convolve_transposed


def conv3d_transpose_ncdhw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> Any:
    """(n, c, d, h, w), (c, o / groups, kd, kh, kw) -> (n, o, od, oh, ow)"""
    return convolve_transposed(a_np, w_np, stride, padding, output_padding, groups)
