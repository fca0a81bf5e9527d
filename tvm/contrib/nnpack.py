"""Products and convolutions of NNPACK as stages of tensor expressions, for CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from tvm import te, tir
from tvm.error import TVMError, message
from tvm.ffi import get_global_func


class ConvolutionAlgorithm(IntEnum):
    """How a convolution is computed."""

    AUTO = 0
    FFT_8x8 = 1
    FFT_16x16 = 2
    WT_8x8 = 3
    IMPLICIT_GEMM = 4
    DIRECT = 5
    WT_8x8_FP16 = 6


class ConvolutionTransformStrategy(IntEnum):
    """When the weights are transformed: with each convolution, or before all of them."""

    COMPUTE = 1
    PRECOMPUTE = 2


def is_available() -> bool:
    """Whether the library is in this build, and starts."""
    start = get_global_func("tvm.contrib.nnpack._initialize", allow_missing=True)
    return start is not None and int(start()) == 0


def fully_connected_inference(lhs: te.Tensor, rhs: te.Tensor, nthreads: int = 1) -> te.Tensor:
    """A matrix times a vector. Shapes: lhs (k,), rhs (m, k), result (m,)."""
    out: te.Tensor = te.extern(
        (rhs.shape[0],), [lhs, rhs],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.nnpack.fully_connected_inference", ins[0], ins[1], outs[0], nthreads
        ),
        name="C",
    )  # fmt: skip
    return out


def _convolved(
    function: str, data: te.Tensor, kernel: te.Tensor, bias: te.Tensor | None,
    window: Sequence[Any], padding: Sequence[int], stride: Sequence[int], nthreads: int,
    algorithm: int,
) -> te.Tensor:  # fmt: skip
    batch, _, height, width = data.shape
    if len(padding) != 4 or len(stride) != 2:
        raise TVMError(
            message(
                "nnpack convolution", found=f"padding {list(padding)}, stride {list(stride)}",
                legal="padding (top, bottom, left, right), stride (down, right)",
            )
        )  # fmt: skip
    rows = (height + padding[0] + padding[1] - window[0]) // stride[0] + 1
    columns = (width + padding[2] + padding[3] - window[1]) // stride[1] + 1
    given = [data, kernel] + ([] if bias is None else [bias])
    out: te.Tensor = te.extern(
        (batch, kernel.shape[0], rows, columns), given,
        lambda ins, outs: tir.call_packed(
            function, ins[0], ins[1], ins[2] if bias is not None else 0, outs[0], *padding,
            *stride, nthreads, int(algorithm),
        ),
        name="C",
    )  # fmt: skip
    return out


def convolution_inference(
    data: te.Tensor, kernel: te.Tensor, bias: te.Tensor | None, padding: Sequence[int],
    stride: Sequence[int], nthreads: int = 1, algorithm: int = ConvolutionAlgorithm.AUTO,
) -> te.Tensor:  # fmt: skip
    """A convolution of NCHW images. Shapes: kernel (f, c, kh, kw), bias (f,) or None."""
    return _convolved(
        "tvm.contrib.nnpack.convolution_inference", data, kernel, bias, kernel.shape[2:], padding,
        stride, nthreads, algorithm,
    )  # fmt: skip


def convolution_inference_without_weight_transform(
    data: te.Tensor, transformed_kernel: te.Tensor, bias: te.Tensor | None, padding: Sequence[int],
    stride: Sequence[int], nthreads: int = 1, algorithm: int = ConvolutionAlgorithm.AUTO,
) -> te.Tensor:  # fmt: skip
    """The same with weights that `convolution_inference_weight_transform` made, of 3 by 3."""
    return _convolved(
        "tvm.contrib.nnpack.convolution_inference_without_weight_transform", data,
        transformed_kernel, bias, (3, 3), padding, stride, nthreads, algorithm,
    )  # fmt: skip


def convolution_inference_weight_transform(
    kernel: te.Tensor, nthreads: int = 1, algorithm: int = ConvolutionAlgorithm.AUTO,
    dtype: Any = "float32",
) -> te.Tensor:  # fmt: skip
    """Weights (f, c, 3, 3) as the Winograd algorithms take them: (f, c, 8, 8)."""
    legal = (ConvolutionAlgorithm.WT_8x8, ConvolutionAlgorithm.WT_8x8_FP16)
    if algorithm not in legal:
        raise TVMError(
            message(
                "nnpack.convolution_inference_weight_transform", found=f"algorithm {algorithm!r}",
                legal=", ".join(map(str, legal)),
            )
        )  # fmt: skip
    out: te.Tensor = te.extern(
        (kernel.shape[0], kernel.shape[1], 8, 8), [kernel],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.nnpack.convolution_inference_weight_transform", ins[0], outs[0],
            nthreads, int(algorithm),
        ),
        name="transform_kernel", dtype=dtype,
    )  # fmt: skip
    return out
