"""Convolution over any number of dimensions in any layout: one definition for all direct ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr
from tvm.topi.common import compute, extents, known
from tvm.topi.utils import get_const_int, get_const_tuple

from .pad import pad
from .utils import get_pad_tuple_generic

Numbers = Any  # one int for all dimensions, or one for each


def per_dimension(value: Numbers, dims: int, what: str) -> list[Any]:
    """One number for each dimension; strides and dilations are at least one."""
    values = list(value) if isinstance(value, (tuple, list)) else [value] * dims
    least = 0 if what == "output_padding" else 1
    if len(values) != dims or any(isinstance(v, int) and v < least for v in values):
        raise ShapeError(
            message(
                f"convolution: {what}",
                found=f"{values}" if len(values) == dims else f"{len(values)} values",
                legal=f"one, or one for each of {dims} dimensions, at least {least}",
            )
        )
    return values


class _Layout:
    """Where the batch (or filter), the channel and the spatial axes of a layout stand."""

    def __init__(self, text: str, lead: str) -> None:
        spatial = [i for i, letter in enumerate(text) if letter not in lead]
        self.order = [text.find(lead[0]), text.find(lead[1]), *spatial]
        if -1 in self.order:
            raise ShapeError(
                f"convolution: layout {text!r}; legal: one with axes {lead[0]} and {lead[1]}"
            )

    def read(self, values: Sequence[Any]) -> list[Any]:
        """Values in the order of the layout, batch and channel first."""
        return [values[i] for i in self.order]

    def write(self, values: Sequence[Any]) -> list[Any]:
        """Values given batch and channel first, in the order of the layout."""
        result: list[Any] = [None] * len(self.order)
        for value, axis in zip(values, self.order):
            result[axis] = value
        return result


def _kernel_layout(data_layout: str, kernel_layout: str, dims: int) -> _Layout:
    """The kernel's own layout, or the usual one beside the data: OIHW for NCHW, HWIO for NHWC."""
    if kernel_layout:
        return _Layout(kernel_layout, "OI")
    spatial = "DHW"[-dims:]
    first_spatial = min(data_layout.find(x) for x in data_layout if x not in "NC")
    channels_first = data_layout.find("C") < first_spatial
    return _Layout("OI" + spatial if channels_first else spatial + "IO", "OI")


@explained
def conv(
    inp: te.Tensor,
    filt: te.Tensor,
    stride: Numbers,
    padding: Any,
    dilation: Numbers,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str | None = None,
    meta_schedule_original_shape: Any = None,
    auto_scheduler_should_rewrite_layout: bool = False,
) -> te.Tensor:
    """Convolution (cross-correlation) in any layout, with channels in groups.

    NCHW: (n, c, h, w), (o, c / groups, kh, kw) -> (n, o, oh, ow)
    """
    dims = len(data_layout) - 2
    extents(inp, data_layout.lower(), "convolution")
    extents(filt, "oi" + "dhw"[-dims:], "convolution")
    strides = per_dimension(stride, dims, "strides")
    dilations = per_dimension(dilation, dims, "dilation")
    dtype = inp.dtype if out_dtype is None else out_dtype
    data, kernel = _Layout(data_layout, "NC"), _kernel_layout(data_layout, kernel_layout, dims)
    batch, channels, *sizes = data.read(get_const_tuple(inp.shape))
    filter_shape = meta_schedule_original_shape or filt.shape
    filters, own_channels, *windows = kernel.read(get_const_tuple(filter_shape))
    _check_channels(channels, filters, own_channels, groups)

    before, after = get_pad_tuple_generic(
        padding, [(k - 1) * d + 1 for k, d in zip(windows, dilations)]
    )
    simplify = Analyzer().simplify
    outs = [
        _plain(simplify(tir.indexdiv(as_expr(size - (k - 1) * d - 1 + b + a), s) + 1))
        if isinstance(size, PrimExpr) or isinstance(k, PrimExpr)
        else (size - (k - 1) * d - 1 + b + a) // s + 1
        for size, k, d, b, a, s in zip(sizes, windows, dilations, before, after, strides)
    ]  # fmt: skip
    padded = pad(inp, data.write([0, 0, *before]), data.write([0, 0, *after]), name="pad_temp")
    per_group = channels // groups
    rc = te.reduce_axis((0, per_group), name="rc")
    taps = [te.reduce_axis((0, k), name=f"r{x}") for x, k in zip("yxz", windows)]
    # the reduction runs in the order of the data's layout, whose first axis is taken for the batch
    rest = data.write(range(dims + 2))[1:]
    summed = [rc, *taps]
    in_order = [summed[sorted(rest).index(axis)] for axis in rest]

    def element(*i: Any) -> PrimExpr:
        n, f, *at = data.read(i)
        channel: Any = rc
        if groups > 1:
            channel = tir.indexdiv(f, filters // groups) * per_group + rc
        moved = [o * s + r * d for o, s, r, d in zip(at, strides, taps, dilations)]
        value = padded(*data.write([n, channel, *moved])).astype(dtype)
        weight = filt(*kernel.write([f, rc, *taps])).astype(dtype)
        result: PrimExpr = te.sum(value * weight, axis=in_order)
        return result

    name = f"{'group_' if groups > 1 else ''}conv{dims}d_{data_layout.lower()}"
    return compute(
        data.write([batch, filters, *outs]),
        element,
        name=name,
        tag=name,
        attrs={"layout_free_placeholders": [filt]} if auto_scheduler_should_rewrite_layout else {},
        varargs_names=data.write(["nn", "ff", "yy", "xx", "zz"][: dims + 2]),
    )


def _plain(extent: PrimExpr) -> Any:
    return get_const_int(extent) if known(extent) else extent


def _check_channels(channels: Any, filters: Any, own_channels: Any, groups: int) -> None:
    if groups < 1:
        raise ShapeError(f"convolution: {groups} groups; legal: at least 1")
    if isinstance(channels, int) and channels % groups:
        raise ShapeError(f"convolution: {channels} input channels in {groups} groups")
    if isinstance(filters, int) and filters % groups:
        raise ShapeError(f"convolution: {filters} output channels in {groups} groups")
    known_both = isinstance(channels, int) and isinstance(own_channels, int)
    if known_both and channels // groups != own_channels:
        raise ShapeError(
            message(
                "convolution: input channels of data and kernel",
                found=f"{channels} in {groups} groups, the kernel has {own_channels}",
                legal=f"a kernel with {channels // groups}",
            )
        )
