"""Convolutions and softmax of cuDNN as stages of tensor expressions.

The stages call `tvm.contrib.cudnn....`; `exists()` says whether those functions are there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ffi import get_global_func

NCHW, NHWC = 0, 1  # numbers of tensor formats


def exists() -> bool:
    """Whether cuDNN can be called."""
    found = get_global_func("tvm.contrib.cudnn.exists", allow_missing=True)
    return found is not None and bool(found())


def _parts(shape: Sequence[Any], tensor_format: int) -> tuple[Any, Any, list[Any]]:
    """The first extent, the channels, and the extents of the image."""
    if tensor_format == NHWC:
        return shape[0], shape[-1], list(shape[1:-1])
    return shape[0], shape[1], list(shape[2:])


def _arranged(first: Any, channels: Any, image: Sequence[Any], tensor_format: int) -> list[Any]:
    return [first, *image, channels] if tensor_format == NHWC else [first, channels, *image]


def conv_output_shape(
    tensor_format: int, pad: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    x_shape: Sequence[Any], w_shape: Sequence[Any], data_dtype: Any = None,
    conv_dtype: Any = None, groups: int = 1,
) -> list[Any]:  # fmt: skip
    """The extents of a convolution's result: (x + 2 pad - (dilation (w - 1) + 1)) // stride + 1."""
    batch, channels, image = _parts(x_shape, tensor_format)
    filters, inward, window = _parts(w_shape, tensor_format)
    known = all(isinstance(e, int) for e in (channels, inward))
    if known and channels != inward * groups:
        raise ShapeError(
            message(
                "conv_output_shape", found=f"{channels} channels, a weight for {inward * groups}",
                legal="as many as the weight has, times groups",
            )
        )
    sizes = [
        (x + 2 * p - (d * (w - 1) + 1)) // s + 1
        for x, w, p, s, d in zip(image, window, pad, stride, dilation)
    ]
    return _arranged(batch, filters, sizes, tensor_format)


def conv_dgrad_shape(
    tensor_format: int, pad: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    dy_shape: Sequence[Any], w_shape: Sequence[Any], output_padding: Sequence[int] = (0, 0),
    groups: int = 1,
) -> list[Any]:  # fmt: skip
    """The extents of a convolution's data, for those of its result."""
    batch, _, image = _parts(dy_shape, tensor_format)
    _, inward, window = _parts(w_shape, tensor_format)
    sizes = [
        (y - 1) * s - 2 * p + d * (w - 1) + 1 + o
        for y, w, p, s, d, o in zip(image, window, pad, stride, dilation, output_padding)
    ]
    return _arranged(batch, inward * groups, sizes, tensor_format)


def softmax_stage(function: str, x: te.Tensor, axis: int) -> te.Tensor:
    """A call of a library that takes the axis after the tensors."""
    made: te.Tensor = te.extern(
        x.shape, [x], lambda ins, outs: tir.call_packed(function, ins[0], outs[0], axis), name="y"
    )
    return made


def softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """Exponentials over their sum along an axis."""
    return softmax_stage("tvm.contrib.cudnn.softmax.forward", x, axis)


def log_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """The logarithm of `softmax`."""
    return softmax_stage("tvm.contrib.cudnn.log_softmax.forward", x, axis)


# The library's algorithms in the order of their numbers, by what they compute.
_NAMES = {
    "fwd": (
        "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
        "WINOGRAD", "WINOGRAD_NONFUSED", "COUNT",
    ),
    "bwd_filter": ("0", "1", "FFT", "3", "WINOGRAD_NONFUSED", "COUNT"),
    "bwd_data": ("0", "1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED", "COUNT"),
}  # fmt: skip


def algo_to_index(algo_type: str, algo_name: str) -> int:
    """The number of an algorithm: `"fwd"`, `"CUDNN_CONVOLUTION_FWD_ALGO_GEMM"` is 2."""
    prefix = f"CUDNN_CONVOLUTION_{algo_type.upper()}_ALGO_"
    names = [prefix + name for name in _NAMES.get(algo_type, ())]
    if algo_name not in names:
        raise ValueError(
            message(
                f"algo_to_index: {algo_name!r} of {algo_type!r}", found="no such algorithm",
                legal=", ".join(names) or f"a type among {', '.join(_NAMES)}",
            )
        )  # fmt: skip
    return names.index(algo_name)


def _find_algo(
    task: str, tensor_format: int, windows: Sequence[Sequence[int]],
    shapes: Sequence[Sequence[Any]], data_dtype: str, conv_dtype: str, groups: int, verbose: bool,
) -> int:  # fmt: skip
    """The number of the fastest algorithm, as the library measures them."""
    arrays = [np.array([int(e) for e in values], "int32") for values in (*windows, *shapes)]
    found = get_global_func(f"tvm.contrib.cudnn.conv.{task}_find_algo")(
        tensor_format, len(shapes[0]) - 2, *(ctypes.c_void_p(a.ctypes.data) for a in arrays),
        data_dtype, conv_dtype, groups, verbose,
    )  # fmt: skip
    return int(found)


def conv_forward_find_algo(
    tensor_format: int, pad: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    x_shape: Sequence[Any], w_shape: Sequence[Any], y_shape: Sequence[Any], data_dtype: str,
    conv_dtype: str, groups: int = 1, verbose: bool = True,
) -> int:  # fmt: skip
    """The number of the fastest algorithm for a convolution."""
    return _find_algo(
        "forward", tensor_format, (pad, stride, dilation), (x_shape, w_shape, y_shape),
        data_dtype, conv_dtype, groups, verbose,
    )  # fmt: skip


def conv_backward_data_find_algo(
    tensor_format: int, pad: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    dy_shape: Sequence[Any], w_shape: Sequence[Any], dx_shape: Sequence[Any], data_dtype: str,
    conv_dtype: str, groups: int = 1, verbose: bool = True,
) -> int:  # fmt: skip
    """The number of the fastest algorithm for the gradient of a convolution's data."""
    return _find_algo(
        "backward_data", tensor_format, (pad, stride, dilation), (dy_shape, w_shape, dx_shape),
        data_dtype, conv_dtype, groups, verbose,
    )  # fmt: skip


def conv_backward_filter_find_algo(
    tensor_format: int, pad: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    dy_shape: Sequence[Any], x_shape: Sequence[Any], dw_shape: Sequence[Any], data_dtype: str,
    conv_dtype: str, groups: int = 1, verbose: bool = True,
) -> int:  # fmt: skip
    """The number of the fastest algorithm for the gradient of a convolution's weights."""
    return _find_algo(
        "backward_filter", tensor_format, (pad, stride, dilation), (dy_shape, x_shape, dw_shape),
        data_dtype, conv_dtype, groups, verbose,
    )  # fmt: skip


def _stage(
    function: str, shape: Sequence[Any], inputs: list[te.Tensor], numbers: Sequence[Any],
    conv_dtype: str, groups: int, dtype: Any,
) -> te.Tensor:  # fmt: skip
    out: te.Tensor = te.extern(
        list(shape), inputs,
        lambda ins, outs: tir.call_packed(function, *numbers, *ins, outs[0], conv_dtype, groups),
        name="y", dtype=dtype,
    )  # fmt: skip
    return out


def conv_forward(
    x: te.Tensor, w: te.Tensor, pad: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int], conv_mode: int, tensor_format: int, algo: int, conv_dtype: str,
    groups: int = 1, verbose: bool = True,
) -> te.Tensor:  # fmt: skip
    """A convolution over images, or over volumes; -1 for `algo` lets cuDNN choose."""
    shape = conv_output_shape(
        tensor_format, pad, stride, dilation, list(x.shape), list(w.shape), x.dtype, conv_dtype,
        groups,
    )  # fmt: skip
    return _stage(
        f"tvm.contrib.cudnn.conv{len(pad)}d.forward", shape, [x, w],
        [conv_mode, tensor_format, algo, *pad, *stride, *dilation], conv_dtype, groups,
        "int32" if "int" in str(x.dtype) else x.dtype,
    )  # fmt: skip


def conv_backward_data(
    dy: te.Tensor, w: te.Tensor, pad: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int], conv_mode: int, tensor_format: int, conv_dtype: str, groups: int = 1,
    output_padding: Sequence[int] = (0, 0),
) -> te.Tensor:  # fmt: skip
    """The gradient of a convolution's data, for that of its result."""
    shape = conv_dgrad_shape(
        tensor_format, pad, stride, dilation, list(dy.shape), list(w.shape), output_padding, groups
    )
    return _stage(
        "tvm.contrib.cudnn.conv2d.backward_data", shape, [dy, w],
        [conv_mode, tensor_format, -1, *pad, *stride, *dilation], conv_dtype, groups, dy.dtype,
    )  # fmt: skip


def conv_backward_filter(
    dy: te.Tensor, x: te.Tensor, kernel_size: Sequence[int], pad: Sequence[int],
    stride: Sequence[int], dilation: Sequence[int], conv_mode: int, tensor_format: int,
    conv_dtype: str, groups: int = 1,
) -> te.Tensor:  # fmt: skip
    """The gradient of a convolution's weights, for that of its result."""
    _, filters, _ = _parts(dy.shape, tensor_format)
    _, channels, _ = _parts(x.shape, tensor_format)
    inward = int(channels) // groups
    shape = _arranged(filters, inward, list(kernel_size), tensor_format)
    return _stage(
        "tvm.contrib.cudnn.conv2d.backward_filter", shape, [dy, x],
        [conv_mode, tensor_format, -1, *pad, *stride, *dilation], conv_dtype, groups, dy.dtype,
    )  # fmt: skip


__all__ = [
    "NCHW", "NHWC", "algo_to_index", "conv_backward_data", "conv_backward_data_find_algo",
    "conv_backward_filter", "conv_backward_filter_find_algo", "conv_dgrad_shape", "conv_forward",
    "conv_forward_find_algo", "conv_output_shape", "exists", "log_softmax", "softmax",
    "softmax_stage",
]  # fmt: skip
