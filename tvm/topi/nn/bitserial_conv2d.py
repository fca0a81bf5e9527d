"""Convolution on numbers of a few bits."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.topi.common import compute

from .bitserial_util import bitpack, product
from .conv_nd import per_dimension
from .pad import pad
from .utils import get_pad_tuple


def _out(extent: Any, window: Any, before: Any, after: Any, stride: Any) -> Any:
    return Analyzer().simplify(tir.indexdiv(extent - window + before + after, stride) + 1)


@explained
def bitserial_conv2d_nchw(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, activation_bits: int,
    weight_bits: int, pack_dtype: str = "uint32", out_dtype: str = "int16", unipolar: bool = True,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (o, c, kh, kw) -> (n, o, oh, ow), bit plane by bit plane."""
    packed = bitpack(data, activation_bits, 1, 2, pack_dtype)
    weight = kernel if kernel.ndim == 5 else bitpack(kernel, weight_bits, 1, 4, pack_dtype)
    batch, words, planes, height, width = packed.shape
    filters, _, kh, kw, kernel_planes = weight.shape
    sh, sw = per_dimension(stride, 2, "strides")
    top, left, down, right = get_pad_tuple(padding, (kh, kw))
    around = pad(packed, [0, 0, 0, top, left], [0, 0, 0, down, right], 0, name="pad_temp")
    rc, ry, rx = (te.reduce_axis((0, n), name=x)
                  for n, x in ((words, "rc"), (kh, "ry"), (kw, "rx")))  # fmt: skip
    b1, b2 = te.reduce_axis((0, planes), name="b1"), te.reduce_axis((0, kernel_planes), name="b2")
    dtype = DataType(out_dtype)

    def element(n: Any, f: Any, y: Any, x: Any) -> PrimExpr:
        value = around(n, rc, b1, y * sh + ry, x * sw + rx)
        sums = product(value, weight(f, rc, ry, rx, b2), unipolar, dtype)
        shifted = tir.shift_left(sums, (b1 + b2).astype(dtype))
        total: PrimExpr = te.sum(shifted, axis=[rc, ry, rx, b2, b1])
        return total

    shape = (batch, filters, _out(height, kh, top, down, sh), _out(width, kw, left, right, sw))
    return compute(shape, element, name="Conv2dOutput", tag="bitserial_conv2d_nchw")


@explained
def bitserial_conv2d_nhwc(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, activation_bits: int,
    weight_bits: int, pack_dtype: str = "uint32", out_dtype: str = "int16", unipolar: bool = True,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, c), (kh, kw, c, o) -> (n, oh, ow, o), bit plane by bit plane."""
    packed = bitpack(data, activation_bits, 3, 4, pack_dtype)
    weight = kernel if kernel.ndim == 5 else bitpack(kernel, weight_bits, 2, 4, pack_dtype)
    batch, height, width, words, planes = packed.shape
    kh, kw, _, filters, kernel_planes = weight.shape
    sh, sw = per_dimension(stride, 2, "strides")
    top, left, down, right = get_pad_tuple(padding, (kh, kw))
    around = pad(packed, [0, top, left, 0, 0], [0, down, right, 0, 0], 0, name="PaddedInput")
    rc, ry, rx = (te.reduce_axis((0, n), name=x)
                  for n, x in ((words, "rc"), (kh, "ry"), (kw, "rx")))  # fmt: skip
    b1, b2 = te.reduce_axis((0, planes), name="b1"), te.reduce_axis((0, kernel_planes), name="b2")
    dtype = DataType(out_dtype)

    def element(n: Any, y: Any, x: Any, f: Any) -> PrimExpr:
        value = around(n, y * sh + ry, x * sw + rx, rc, b1)
        sums = product(value, weight(ry, rx, rc, f, b2), unipolar, dtype)
        shifted = tir.shift_left(sums, (b1 + b2).astype(dtype))
        total: PrimExpr = te.sum(shifted, axis=[rc, ry, rx, b2, b1])
        return total

    shape = (batch, _out(height, kh, top, down, sh), _out(width, kw, left, right, sw), filters)
    return compute(shape, element, name="Conv2dOutput", tag="bitserial_conv2d_nhwc")
