"""Convolutions and softmax of AMD's MIOpen as stages of tensor expressions.

`conv2d_forward` asks the library which of its algorithms suits the extents, so it needs a build
with MIOpen; the other stages call it only when they run.
"""

from __future__ import annotations

import ctypes

import numpy as np

from tvm import te, tir
from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.topi.utils import get_const_int

from .cudnn import NCHW, conv_output_shape, softmax_stage

_SETUP = "tvm.contrib.miopen.conv2d.setup"


def conv2d_forward(
    x: te.Tensor, w: te.Tensor, stride_h: int = 1, stride_w: int = 1, pad_h: int = 0,
    pad_w: int = 0, dilation_h: int = 1, dilation_w: int = 1, conv_mode: int = 0,
    data_type: int = 1, group_count: int = 1,
) -> te.Tensor:  # fmt: skip
    """A convolution (mode 0) or a transposed one (mode 1) of NCHW images; type 1 is float32."""
    setup = get_global_func(_SETUP, allow_missing=True)
    if setup is None:
        raise TVMError(
            message(
                "miopen.conv2d_forward", found=f"no function {_SETUP!r}",
                legal="a build with MIOpen, or a function registered under this name",
            )
        )  # fmt: skip
    numbers = (conv_mode, data_type, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w)
    data, weight = ([get_const_int(extent) for extent in tensor.shape] for tensor in (x, w))
    wanted = conv_output_shape(
        NCHW, (pad_h, pad_w), (stride_h, stride_w), (dilation_h, dilation_w), data, weight,
        groups=group_count,
    )  # fmt: skip
    shape = np.array(wanted, "int32")  # the library writes those of a transposed one over them
    algo = setup(*numbers, *data, *weight, group_count, ctypes.c_void_p(shape.ctypes.data))
    out: te.Tensor = te.extern(
        [int(extent) for extent in shape], [x, w],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.miopen.conv2d.forward", *numbers, algo, ins[0], ins[1], outs[0]
        ),
        name="y",
    )  # fmt: skip
    return out


def softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """Exponentials over their sum along an axis."""
    return softmax_stage("tvm.contrib.miopen.softmax.forward", x, axis)


def log_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """The logarithm of `softmax`."""
    return softmax_stage("tvm.contrib.miopen.log_softmax.forward", x, axis)
