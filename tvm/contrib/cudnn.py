"""Convolutions and softmax of cuDNN as stages of tensor expressions.

The stages call `tvm.contrib.cudnn....`; `exists()` says whether those functions are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def _softmax(function: str, x: te.Tensor, axis: int) -> te.Tensor:
    made: te.Tensor = te.extern(
        x.shape, [x], lambda ins, outs: tir.call_packed(function, ins[0], outs[0], axis), name="y"
    )
    return made


def softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """Exponentials over their sum along an axis."""
    return _softmax("tvm.contrib.cudnn.softmax.forward", x, axis)


def log_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """The logarithm of `softmax`."""
    return _softmax("tvm.contrib.cudnn.log_softmax.forward", x, axis)


def conv_forward(
    x: te.Tensor, w: te.Tensor, pad: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int], conv_mode: int, tensor_format: int, algo: int, conv_dtype: str,
    groups: int = 1, verbose: bool = True,
) -> te.Tensor:  # fmt: skip
    """A convolution over images; -1 for `algo` lets cuDNN choose."""
    shape = conv_output_shape(
        tensor_format, pad, stride, dilation, list(x.shape), list(w.shape), x.dtype, conv_dtype,
        groups,
    )  # fmt: skip
    out: te.Tensor = te.extern(
        shape, [x, w],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.cudnn.conv2d.forward", conv_mode, tensor_format, algo, *pad, *stride,
            *dilation, ins[0], ins[1], outs[0], conv_dtype, groups,
        ),
        name="y", dtype="int32" if "int" in str(x.dtype) else x.dtype,
    )  # fmt: skip
    return out


__all__ = [
    "NCHW", "NHWC", "conv_dgrad_shape", "conv_forward", "conv_output_shape", "exists",
    "log_softmax", "softmax",
]  # fmt: skip
