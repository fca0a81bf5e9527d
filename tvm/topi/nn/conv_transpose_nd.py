"""Transposed convolution over any number of dimensions, as a convolution of the spread data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.topi.common import check_same, compute, extents, known
from tvm.topi.utils import get_const_int

from .conv_nd import per_dimension
from .dilate import dilate
from .pad import pad
from .utils import get_pad_tuple_generic


def check_output_padding(output_padding: Sequence[Any], strides: Sequence[Any]) -> None:
    """The extra rows at the end are fewer than the strides."""
    for extra, stride in zip(output_padding, strides):
        if isinstance(extra, int) and isinstance(stride, int) and extra >= stride:
            raise ShapeError(
                message(
                    "conv_transpose: output_padding",
                    found=f"{tuple(output_padding)} with strides {tuple(strides)}",
                    legal="less than the stride in each dimension",
                )
            )


def _dims(data: te.Tensor) -> int:
    """How many dimensions the window moves in."""
    if 3 <= data.ndim <= 5:
        return data.ndim - 2
    raise ShapeError(
        message(
            f"transposed convolution: {data.name}",
            found=f"{data.ndim} dimensions",
            legal="batch, channels, and one to three more",
        )
    )


def spread_and_turned(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, output_padding: Any,
    kernel_name: str = "kernel_transform",
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """The spread data and the mirrored kernel, whose plain convolution is the result.

    The data gets strides as gaps, and around it the room that the kernel needs.
    """
    dims = _dims(data)
    strides = per_dimension(stride, dims, "strides")
    extra = per_dimension(output_padding, dims, "output_padding")
    check_output_padding(extra, strides)
    letters = "dhw"[3 - dims :]
    extents(data, "nc" + letters, "transposed convolution")
    channels, filters, *windows = extents(kernel, "io" + letters, "transposed convolution")
    check_same("transposed convolution", "channels of data and kernel", data.shape[1], channels)
    before, after = get_pad_tuple_generic(padding, windows)
    spread = dilate(data, [1, 1, *strides], name="data_dilate")
    low = [k - 1 - p for k, p in zip(windows, before)]
    high = [k - 1 - p + more for k, p, more in zip(windows, after, extra)]
    padded = pad(spread, [0, 0, *low], [0, 0, *high], name="data_pad")

    def mirrored(o: Any, i: Any, *x: Any) -> PrimExpr:
        return kernel(i, o, *[k - 1 - at for k, at in zip(windows, x)])

    turned = compute(
        (filters, channels, *windows), lambda *i: mirrored(*i), name=kernel_name,
        varargs_names=["o", "i", *"dhw"[3 - dims :]],
    )  # fmt: skip
    return padded, turned


def conv_transpose(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: Any,
    padding: Any,
    out_dtype: Any,
    output_padding: Any,
    groups: int,
    tag: str,
    kernel_name: str = "kernel_transform",
) -> te.Tensor:
    """(n, c, ...), (c, o / groups, ...) -> (n, o, ...), channels first."""
    dims = _dims(data)
    channels = data.shape[1]
    if known(channels) and get_const_int(channels) % groups:
        raise ShapeError(f"input channels {channels} must divide group size {groups}")
    padded, turned = spread_and_turned(data, kernel, stride, padding, output_padding, kernel_name)
    own, _, *windows = turned.shape
    dtype = data.dtype if out_dtype is None else out_dtype
    simplify = Analyzer().simplify
    outs = [simplify(extent - k + 1) for extent, k in zip(padded.shape[2:], windows)]
    per_group = simplify(tir.floordiv(channels, groups))
    dc = te.reduce_axis((0, per_group), name="dc")
    taps = [te.reduce_axis((0, k), name=f"d{x}") for x, k in zip("dhw"[3 - dims :], windows)]

    def element(*i: Any) -> PrimExpr:
        n, o, *at = i
        channel = tir.indexdiv(o, own) * per_group + dc if groups > 1 else dc
        value = padded(n, channel, *[x + tap for x, tap in zip(at, taps)]).astype(dtype)
        own_filter = tir.indexmod(o, own) if groups > 1 else o
        weight = turned(own_filter, channel, *taps).astype(dtype)
        result: PrimExpr = te.sum(value * weight, axis=[dc, *taps])
        return result

    return compute(
        (data.shape[0], own * groups, *outs), lambda *i: element(*i), tag=tag,
        varargs_names=["b", "c", *"dhw"[3 - dims :]],
    )  # fmt: skip
