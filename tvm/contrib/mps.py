"""Products and convolutions of Metal Performance Shaders as stages of tensor expressions."""

from __future__ import annotations

from tvm import te, tir
from tvm.error import TVMError, message

from .blas_stages import matmul_stage

# How the library numbers what lies around an image.
_PADDING = {"SAME": 0, "VALID": 1}


def matmul(lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False) -> te.Tensor:
    """`lhs @ rhs` of two matrices, either transposed before: a call of the library."""
    return matmul_stage("tvm.contrib.mps.matmul", lhs, rhs, transa, transb)


def conv2d(data: te.Tensor, weight: te.Tensor, pad: str = "SAME", stride: int = 1) -> te.Tensor:
    """A convolution over images, channels last: a call of the library.

    Shapes: data (n, h, w, c), weight (f, kh, kw, c), result (n, h // stride, w // stride, f).
    """
    if pad not in _PADDING:
        raise TVMError(message("mps.conv2d", found=f"pad={pad!r}", legal=", ".join(_PADDING)))
    batch, height, width, _ = data.shape
    out: te.Tensor = te.extern(
        (batch, height // stride, width // stride, weight.shape[0]), [data, weight],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.mps.conv2d", ins[0], ins[1], outs[0], _PADDING[pad], stride
        ),
        name="C",
    )  # fmt: skip
    return out
