"""The gradient of pooling: each element gathers from the windows that it lies in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import check_same, ravel, stage, stages
from tvm.topi.utils import layout_axes

from .pad import padded


@explained
def pool_grad(
    grads: te.Tensor, data: te.Tensor, kernel: Sequence[Any], stride: Sequence[Any],
    padding: Sequence[Any], pool_type: str, ceil_mode: bool = False,
    count_include_pad: bool = True, layout: str = "NCHW",
) -> te.Tensor:  # fmt: skip
    """The gradient of the data from that of pool2d's result.

    A window's gradient goes to its largest element, the first of equals, or to all in equal parts.
    """
    if pool_type not in ("max", "avg"):
        raise ValueError(f"pool_grad: pool_type {pool_type!r}; legal: 'max', 'avg'")
    if len(kernel) != 2 or len(stride) != 2 or len(padding) != 4:
        raise ShapeError(
            f"pool_grad: {len(kernel)} kernel extents, {len(stride)} strides, {len(padding)} "
            "paddings; legal: 2, 2 and 4"
        )
    axes = layout_axes(layout, "HW", "pool_grad")
    grad = _Gradient(grads, data, axes, kernel, stride, padding, ceil_mode)
    return grad.of_max() if pool_type == "max" else grad.of_mean(count_include_pad)


class _Gradient:
    def __init__(
        self, grads: te.Tensor, data: te.Tensor, axes: Sequence[int], kernel: Sequence[Any],
        stride: Sequence[Any], padding: Sequence[Any], ceil_mode: bool,
    ) -> None:  # fmt: skip
        self.grads, self.data, self.axes = grads, data, list(axes)
        self.kernel, self.stride = list(kernel), list(stride)
        self.before, self.after = list(padding[:2]), list(padding[2:])
        self.extra = [s - 1 if ceil_mode else 0 for s in stride]
        simplify = Analyzer().simplify
        if grads.ndim != data.ndim:
            raise ShapeError(
                f"pool_grad: gradients of {grads.ndim} dimensions, data of {data.ndim}; legal: as "
                "many of each"
            )
        for k, (own, other) in enumerate(zip(grads.shape, data.shape)):
            wanted = other
            if k in self.axes:
                n = self.axes.index(k)
                room = other + self.before[n] + self.after[n] + self.extra[n] - self.kernel[n]
                wanted = simplify(tir.indexdiv(room, self.stride[n]) + 1)
            check_same("pool_grad", f"dimension {k} of the gradients", own, wanted)
        # at most so many windows in a row hold one element
        self.around = [
            te.reduce_axis((0, tir.const((k + s - 1) // s, data.shape[axis].dtype)), n)
            for axis, k, s, n in zip(self.axes, self.kernel, self.stride, ("wh", "ww"))
        ]

    def _windows(self, i: Sequence[Any]) -> tuple[list[Any], list[PrimExpr]]:
        """The index of a window that holds an element, and when there is such a window."""
        own, there = list(i), []
        for axis, k, s, low, tap in zip(
            self.axes, self.kernel, self.stride, self.before, self.around
        ):
            at = i[axis] + low
            window = tir.truncdiv(at, s) - tap
            own[axis] = window
            there.append(_first_window(at, k, s) <= window)
            count = self.grads.shape[axis]
            last = tir.truncdiv(self.data.shape[axis] - 1 + low, s)
            if not Analyzer().can_prove(last < count):  # elements behind the last window
                there.append(window < count)
        return own, there

    def of_max(self) -> te.Tensor:
        """Windows remember where their largest element stands."""
        before: list[Any] = [0] * self.data.ndim
        after: list[Any] = [0] * self.data.ndim
        for axis, low, high, more in zip(self.axes, self.before, self.after, self.extra):
            before[axis], after[axis] = low, high + more
        names = [f"ax{k}" for k in range(self.data.ndim)]
        least = tir.min_value(self.data.dtype)
        source = self.data
        if any(before) or any(after):
            source = padded(source, before, after, least, "pad_temp", names, kind=tag.ELEMWISE)
        taps = [te.reduce_axis((0, k), f"d{n}") for k, n in zip(self.kernel, "hw")]

        def largest(*i: Any) -> Any:
            own = list(i)
            for axis, s, tap in zip(self.axes, self.stride, taps):
                own[axis] = i[axis] * s + tap
            return _first_largest((ravel(own, source.shape), source(*own)), axis=taps)

        argmax, _ = stages(self.grads.shape, largest, "maxpool_grad_argmax", tag.COMM_REDUCE_IDX)

        def element(*i: Any) -> PrimExpr:
            own, there = self._windows(i)
            at = [x + low for x, low in zip(i, before)]
            picked = tir.all(*there, argmax(*own).equal(ravel(at, source.shape)))
            zero = tir.const(0, self.data.dtype)
            value: PrimExpr = te.sum(
                tir.if_then_else(picked, self.grads(*own), zero), axis=self.around
            )
            return value

        return stage(self.data.shape, element, "T_pool_grad", "pool_grad_max")

    def of_mean(self, count_include_pad: bool) -> te.Tensor:
        """Windows divide by how many elements they counted."""

        def element(*i: Any) -> PrimExpr:
            own, there = list(i), []
            for axis, k, s, low, tap in zip(
                self.axes, self.kernel, self.stride, self.before, self.around
            ):
                at = i[axis] + low
                own[axis] = window = tir.truncdiv(at, s) - tap
                first = _first_window(at, k, s)
                there.append(tir.all(first <= window, window < self.grads.shape[axis]))
            size: PrimExpr = tir.const(1, "int32")
            for k, axis in enumerate(self.axes):
                start = own[axis] * self.stride[k] - self.before[k]
                end = start + self.kernel[k]
                if count_include_pad:
                    end = te.min(end, self.data.shape[axis] + self.after[k])
                else:
                    start = te.max(start, tir.const(0, start.dtype))
                    end = te.min(end, self.data.shape[axis])
                size = size * (end - start)
            counted = te.max(size, tir.const(1, size.dtype)).astype(self.data.dtype)
            zero = tir.const(0, self.data.dtype)
            share = tir.if_then_else(tir.all(*there), self.grads(*own) / counted, zero)
            value: PrimExpr = te.sum(share, axis=self.around)
            return value

        return stage(self.data.shape, element, "T_pool_grad", "pool_grad_avg")


def _first_window(at: PrimExpr, kernel: Any, stride: Any) -> PrimExpr:
    """The first of the windows that hold an element."""
    later = tir.truncdiv(at - kernel, stride) + 1
    return tir.Select(at < kernel, tir.const(0, at.dtype), later)


def _combine(x: Any, y: Any) -> list[PrimExpr]:
    wins = tir.any(x[1] > y[1], tir.all(x[1].equal(y[1]), x[0] < y[0]))
    return [tir.Select(wins, x[0], y[0]), tir.Select(x[1] > y[1], x[1], y[1])]


_first_largest = te.comm_reducer(
    _combine, lambda a, b: [tir.const(-1, a), tir.min_value(b)], name="first_largest"
)
