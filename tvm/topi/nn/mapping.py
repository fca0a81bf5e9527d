"""Scale and shift for each channel."""

from __future__ import annotations

from tvm import te
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute


@te.tag_scope(tag=tag.BROADCAST)
@explained
def scale_shift_nchw(Input: te.Tensor, Scale: te.Tensor, Shift: te.Tensor) -> te.Tensor:
    """(n, c, h, w), (c,), (c,) -> (n, c, h, w)"""
    return compute(
        Input.shape, lambda b, c, i, j: Input(b, c, i, j) * Scale(c) + Shift(c), name="ScaleShift"
    )


@te.tag_scope(tag=tag.BROADCAST)
@explained
def scale_shift_nhwc(Input: te.Tensor, Scale: te.Tensor, Shift: te.Tensor) -> te.Tensor:
    """(n, h, w, c), (c,), (c,) -> (n, h, w, c)"""
    return compute(
        Input.shape, lambda b, i, j, c: Input(b, i, j, c) * Scale(c) + Shift(c), name="ScaleShift"
    )


@te.tag_scope(tag=tag.BROADCAST)
@explained
def scale_shift_nchwc(Input: te.Tensor, Scale: te.Tensor, Shift: te.Tensor) -> te.Tensor:
    """(n, c / b, h, w, b), (c / b, b), (c / b, b) -> (n, c / b, h, w, b)"""
    return compute(
        Input.shape,
        lambda b, cc, i, j, cb: Input(b, cc, i, j, cb) * Scale(cc, cb) + Shift(cc, cb),
        name="ScaleShift",
    )
