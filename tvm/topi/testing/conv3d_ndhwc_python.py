"""Three-dimensional convolution, channels last."""

from __future__ import annotations

from typing import Any

from .convolution import convolve


def conv3d_ndhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """(n, d, h, w, c), (kd, kh, kw, c / groups, o) -> (n, od, oh, ow, o)"""
    first = convolve(
        a_np.transpose(0, 4, 1, 2, 3), w_np.transpose(4, 3, 0, 1, 2), stride, padding, groups
    )
    return first.transpose(0, 2, 3, 4, 1)
