"""Two-dimensional transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .convolution import convolve_transposed


def conv2d_transpose_nchw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> Any:
    """(n, c, h, w), (c, o / groups, kh, kw) -> (n, o, oh, ow)"""
    return convolve_transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nhwc_python(
    a_nhwc: Any, weight: Any, weight_format: str, stride: Any, padding: Any,
    output_padding: Sequence[int] = (0, 0),
) -> Any:  # fmt: skip
    """(n, h, w, c) and a kernel in the given layout -> (n, oh, ow, o)"""
    if sorted(weight_format) != sorted("HWIO"):
        raise ValueError(f"weight_format {weight_format!r}; legal: an order of H, W, I, O")
    kernel = weight.transpose([weight_format.index(x) for x in "IOHW"])
    first = convolve_transposed(
        a_nhwc.transpose(0, 3, 1, 2), kernel, stride, padding, output_padding
    )
    return first.transpose(0, 2, 3, 1)
