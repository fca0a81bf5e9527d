"""The gradient of a convolution's kernel."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tvm.topi.nn.utils import get_pad_tuple_generic

from .convolution import index_tuple, several


def conv2d_backward_weight_nchw_python(
    dy_np: Any, x_np: Any, kernel_size: Any, stride: Any, padding: Any, groups: int = 1,
    channels: int | None = None,
) -> Any:  # fmt: skip
    """(n, o, oh, ow), (n, c, h, w) -> (o, c / groups, kh, kw)"""
    windows, strides = several(kernel_size, 2), several(stride, 2)
    before, after = get_pad_tuple_generic(
        list(padding) if isinstance(padding, tuple) else padding, windows
    )
    x = np.pad(x_np, [(0, 0), (0, 0), *zip(before, after)])
    own, each = x.shape[1] // groups, dy_np.shape[1] // groups
    result = np.zeros((dy_np.shape[1], own, *windows), dy_np.dtype)
    outs = dy_np.shape[2:]
    for tap in product(*map(range, windows)):
        steps = [slice(t, t + (o - 1) * s + 1, s) for t, o, s in zip(tap, outs, strides)]
        part = x[index_tuple(slice(None), slice(None), *steps)]
        for g in range(groups):
            grad = dy_np[:, g * each : (g + 1) * each]
            data = part[:, g * own : (g + 1) * own]
            goal = index_tuple(slice(g * each, (g + 1) * each), slice(None), *tap)
            result[goal] = np.einsum("nohw,nchw->oc", grad, data)
    return result


def conv2d_backward_weight_python(
    dy_np: Any, x_np: Any, kernel_size: Any, stride: Any, padding: Any, layout: str = "NCHW",
    groups: int = 1, channels: int | None = None,
) -> Any:  # fmt: skip
    """`conv2d_backward_weight_nchw_python`, or (o, kh, kw, c / groups) for NHWC."""
    if layout == "NCHW":
        return conv2d_backward_weight_nchw_python(
            dy_np, x_np, kernel_size, stride, padding, groups, channels
        )
    first = conv2d_backward_weight_nchw_python(
        dy_np.transpose(0, 3, 1, 2), x_np.transpose(0, 3, 1, 2), kernel_size, stride, padding,
        groups, channels,
    )  # fmt: skip
    return first.transpose(0, 2, 3, 1)
