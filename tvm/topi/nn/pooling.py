"""Pooling over windows, over given numbers of windows, over everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm, as_expr
from tvm.topi import tag
from tvm.topi.common import stage
from tvm.topi.utils import equal_const_int, layout_axes

from .pad import padded
from .pool_gradient import pool_grad

__all__ = [
    "adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "global_pool", "pool1d", "pool2d",
    "pool3d", "pool_grad",
]  # fmt: skip

Sizes = Sequence[Any]


def _check_type(pool_type: str) -> None:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"pooling: pool_type {pool_type!r}; legal: 'max', 'avg'")


def _is_wide(kernel: Any) -> bool:
    """Whether windows are longer than those of a usual network, and may be than the tensor."""
    return isinstance(kernel, (int, IntImm)) and int(kernel) > 64


class _Windows:
    """The windows of a pooling: their axes in the tensor, and how they lie."""

    def __init__(
        self, x: te.Tensor, axes: list[int], kernel: Sizes, stride: Sizes, dilation: Sizes,
        padding: Sizes, ceil_mode: bool,
    ) -> None:  # fmt: skip
        count = len(axes)
        given = (("kernel", kernel), ("stride", stride), ("dilation", dilation))
        for what, sizes in given:
            if len(sizes) != count:
                raise ShapeError(
                    f"pooling: {len(sizes)} values of {what}; legal: one for each of {count} axes"
                )
        if len(padding) != 2 * count:
            raise ShapeError(
                message(
                    "Pooling padding_size must have one value for each side",
                    found=f"{len(padding)} values",
                    legal=f"{2 * count}: before each axis, then after each",
                )
            )
        self.x, self.axes = x, axes
        self.kernel, self.stride, self.dilation = list(kernel), list(stride), list(dilation)
        self.before = list(padding[:count])
        # rounding the number of windows up is rounding down with more padding at the end
        self.extra = [s - 1 if ceil_mode else 0 for s in stride]
        self.after = [p + more for p, more in zip(padding[count:], self.extra)]
        simplify: Callable[[Any], Any] = Analyzer().simplify
        self.shape = list(x.shape)
        for i, axis in enumerate(axes):
            reach = x.shape[axis] - (self.kernel[i] - 1) * self.dilation[i] - 1
            room = reach + self.before[i] + self.after[i]
            self.shape[axis] = simplify(tir.indexdiv(room, self.stride[i]) + 1)
            if ceil_mode and equal_const_int(self.dilation[i], 1) and _is_wide(self.kernel[i]):
                self._cut(i, x.shape[axis] + self.before[i] + padding[count + i], simplify)
        self.taps = [te.reduce_axis((0, k), f"rv{i}") for i, k in enumerate(self.kernel)]

    def _cut(self, i: int, whole: Any, simplify: Callable[[Any], Any]) -> None:
        """Let windows along one axis be no longer than all there is, nor pad for more than them.

        A window for pictures of any size (2,560 along both axes) would be padded to all of it.
        """
        kernel = simplify(te.min(as_expr(self.kernel[i]), whole))
        last = (self.shape[self.axes[i]] - 1) * self.stride[i]
        extra = simplify(te.max(last + kernel - whole, tir.const(0, whole.dtype)))
        self.kernel[i] = kernel
        self.after[i] = simplify(self.after[i] - self.extra[i] + extra)
        self.extra[i] = extra

    def padded(self, value: Any) -> te.Tensor:
        """The tensor with its padding, if there is any."""
        before: list[Any] = [0] * self.x.ndim
        after: list[Any] = [0] * self.x.ndim
        for axis, low, high in zip(self.axes, self.before, self.after):
            before[axis], after[axis] = low, high
        if all(equal_const_int(p, 0) for p in (*before, *after)):
            return self.x
        names = [f"ax{i}" for i in range(self.x.ndim)]
        return padded(self.x, before, after, value, "pad_temp", names, kind=tag.ELEMWISE)

    def source_indices(self, i: Sequence[Any]) -> list[Any]:
        """The indices of one tap of one window."""
        own = list(i)
        for axis, step, tap, spread in zip(self.axes, self.stride, self.taps, self.dilation):
            own[axis] = i[axis] * step + tap * spread
        return own


def _pool(windows: _Windows, pool_type: str, count_include_pad: bool) -> te.Tensor:
    _check_type(pool_type)
    x = windows.x
    if pool_type == "max":
        source = windows.padded(tir.min_value(x.dtype))
        rule = {"schedule_rule": "meta_schedule.pool_max"}
        largest = _reduced(te.max, source, windows)
        return stage(windows.shape, largest, "pool_max", "pool_max", rule)
    source = windows.padded(tir.const(0, x.dtype))
    total = stage(windows.shape, _reduced(_sum, source, windows), "pool_sum", "pool_sum")
    size = _size_with_padding if count_include_pad else _size_without_padding

    def element(*i: Any) -> PrimExpr:
        return _mean(total(*i), size(windows, i), x.dtype)

    rule = {"schedule_rule": "meta_schedule.pool_avg"}
    return stage(windows.shape, element, "pool_avg", tag.ELEMWISE, rule)


def _reduced(
    reducer: Callable[..., Any], source: te.Tensor, windows: _Windows
) -> Callable[..., PrimExpr]:
    def element(*i: Any) -> PrimExpr:
        value: PrimExpr = reducer(source(*windows.source_indices(i)), axis=windows.taps)
        return value

    return element


def _size_with_padding(windows: _Windows, i: Sequence[Any]) -> PrimExpr:
    """How many taps of a window lie in the tensor or its padding (not in what rounding added)."""
    total: PrimExpr = tir.const(1, "int32")
    for k, axis in enumerate(windows.axes):
        start = i[axis] * windows.stride[k] - windows.before[k]
        end = start + (windows.kernel[k] - 1) * windows.dilation[k]
        last = windows.x.shape[axis] + windows.after[k] - 1 - windows.extra[k]
        total = total * (tir.truncdiv(te.min(end, last) - start, windows.dilation[k]) + 1)
    return total


def _size_without_padding(windows: _Windows, i: Sequence[Any]) -> PrimExpr:
    """How many taps of a window lie in the tensor; at least one, so that it can be divided by."""
    total: PrimExpr = tir.const(1, "int32")
    for k, axis in enumerate(windows.axes):
        spread = windows.dilation[k]
        start = i[axis] * windows.stride[k] - windows.before[k]
        end = te.min(start + (windows.kernel[k] - 1) * spread, windows.x.shape[axis] - 1)
        zero = tir.const(0, start.dtype)
        skipped = te.max(tir.truncdiv(spread - 1 - start, spread), zero)
        first = start + skipped * spread
        total = total * (tir.truncdiv(end - first, spread) + 1)
    size: PrimExpr = te.max(total, tir.const(1, total.dtype))
    return size


@explained
def pool1d(
    data: te.Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes, padding: Sizes, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCW", count_include_pad: bool = True,
) -> te.Tensor:  # fmt: skip
    """Pooling along one axis; `padding` is (left, right)."""
    axes = layout_axes(layout, "W", "pool1d")
    kernel, stride, dilation = _several(kernel), _several(stride), _several(dilation)
    windows = _Windows(data, axes, kernel, stride, dilation, padding, ceil_mode)
    return _pool(windows, pool_type, count_include_pad)


@explained
def pool2d(
    data: te.Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes, padding: Sizes, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCHW", count_include_pad: bool = True,
) -> te.Tensor:  # fmt: skip
    """Pooling along two axes; `padding` is (top, left, bottom, right)."""
    axes = layout_axes(layout, "HW", "pool2d")
    windows = _Windows(data, axes, kernel, stride, dilation, padding, ceil_mode)
    return _pool(windows, pool_type, count_include_pad)


@explained
def pool3d(
    data: te.Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes, padding: Sizes, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCDHW", count_include_pad: bool = True,
) -> te.Tensor:  # fmt: skip
    """Pooling along three axes; `padding` is (front, top, left, back, bottom, right)."""
    axes = layout_axes(layout, "DHW", "pool3d")
    windows = _Windows(data, axes, kernel, stride, dilation, padding, ceil_mode)
    return _pool(windows, pool_type, count_include_pad)


def _several(value: Any) -> Sizes:
    return value if isinstance(value, (tuple, list)) else [value]


# --- a given number of windows ---


def _window(i: PrimExpr, outs: Any, size: Any) -> tuple[PrimExpr, PrimExpr]:
    """Start and length of window number `i` of `outs` that cover an axis."""
    if isinstance(outs, tir.IntImm) and outs.value == 0:  # there is no window to tell of
        return tir.const(0, outs.dtype), tir.const(0, outs.dtype)
    start = tir.indexdiv(i * size, outs)
    after = (i + 1) * size
    end = tir.indexdiv(after, outs)
    end = tir.Select(tir.indexmod(after, outs).equal(0), end, end + 1)
    return start, end - start


def _sum(value: PrimExpr, axis: Any) -> PrimExpr:
    """A sum, of 32 bits where integers have fewer: the type of a mean need not hold it."""
    dtype = DataType(value.dtype)
    narrow = dtype.is_integer and dtype.bits < 32
    total: PrimExpr = te.sum(value.astype("int32") if narrow else value, axis=axis)
    return total


def _mean(total: PrimExpr, count: PrimExpr, dtype: Any) -> PrimExpr:
    mean: PrimExpr = tir.div(total, count)
    return mean if mean.dtype == dtype else mean.astype(dtype)


def _adaptive(
    data: te.Tensor, output_size: Sizes, pool_type: str, axes: Sequence[int]
) -> te.Tensor:
    _check_type(pool_type)
    if len(output_size) != len(axes):
        raise ShapeError(
            f"adaptive_pool: {len(output_size)} output sizes; legal: one for each of {len(axes)}"
        )
    shape = list(data.shape)
    for axis, size in zip(axes, output_size):
        shape[axis] = as_expr(size)
    outs = [shape[axis] for axis in axes]

    def reduced(reducer: Callable[..., Any]) -> Callable[..., PrimExpr]:
        def element(*i: Any) -> PrimExpr:
            own, taps = list(i), []
            for k, axis in enumerate(axes):
                start, length = _window(i[axis], outs[k], data.shape[axis])
                tap = te.reduce_axis((0, length), f"rv{k}")
                taps.append(tap)
                own[axis] = start + tap
            value: PrimExpr = reducer(data(*own), axis=taps)
            return value

        return element

    if pool_type == "max":
        rule = {"schedule_rule": "meta_schedule.adaptive_pool_max"}
        return stage(shape, reduced(te.max), "adaptive_pool_max", "adaptive_pool_max", rule)
    total = stage(shape, reduced(_sum), "adaptive_pool_sum", "adaptive_pool_sum")

    def mean(*i: Any) -> PrimExpr:
        size: PrimExpr = tir.const(1, total.dtype)
        for k, axis in enumerate(axes):
            size = size * _window(i[axis], outs[k], data.shape[axis])[1].astype("int32")
        return _mean(total(*i), size, data.dtype)

    rule = {"schedule_rule": "meta_schedule.adaptive_pool_avg"}
    return stage(shape, mean, "adaptive_pool_avg", tag.ELEMWISE, rule)


@explained
def adaptive_pool(
    data: te.Tensor, output_size: Sizes, pool_type: str, layout: str = "NCHW"
) -> te.Tensor:
    """Pooling into `output_size` windows along H and W, whatever the extents are."""
    return _adaptive(data, output_size, pool_type, layout_axes(layout, "HW", "adaptive_pool"))


@explained
def adaptive_pool1d(
    data: te.Tensor, output_size: Sizes, pool_type: str, layout: str = "NCW"
) -> te.Tensor:
    """Pooling into `output_size` windows along W."""
    return _adaptive(data, output_size, pool_type, layout_axes(layout, "W", "adaptive_pool1d"))


@explained
def adaptive_pool3d(
    data: te.Tensor, output_size: Sizes, pool_type: str, layout: str = "NCDHW"
) -> te.Tensor:
    """Pooling into `output_size` windows along D, H and W."""
    return _adaptive(data, output_size, pool_type, layout_axes(layout, "DHW", "adaptive_pool3d"))


@explained
def global_pool(data: te.Tensor, pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Pooling over all of H and W, which become 1."""
    return adaptive_pool(data, [1, 1], pool_type, layout)
