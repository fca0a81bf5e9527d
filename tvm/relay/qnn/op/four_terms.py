"""Products of quantized tensors as products of what is stored, and corrections for zero points.

    sum((x - a) * (w - b))  =  sum(x * w)  -  b * sum(x)  -  a * sum(w)  +  n * a * b

The first term has the narrow operands, for which hardware has instructions; the others are sums
over few axes, and of constant weights constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from tvm.ir.op import Op
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant, const
from tvm.relay.op import nn, op_attrs

from .arithmetic import limits

_SPATIAL: Final = {"NCHW": (2, 3), "NHWC": (1, 2)}
_KERNELS: Final = ("OIHW", "HWIO", "HWOI")


def scalar_of(zero: Any) -> int | None:
    """A zero point that is one number, known by now."""
    if isinstance(zero, Constant) and zero.is_scalar():
        return int(zero.data.numpy())
    return None


def static_extents(found: Any) -> list[int] | None:
    """The extents of a tensor; None unless all are known."""
    dims: list[Any] = [getattr(dim, "value", None) for dim in found.shape]
    return None if None in dims else [int(dim) for dim in dims]


def total(
    product: Any, zeros: Sequence[Any], by_weights: Any, by_data: Any, count: Any
) -> Any:
    """The four terms; those without effect are left out where both zero points are known.

    `by_weights()` is the second term, `by_data()` the third, `count()` the fourth.
    """
    known: list[Any] = [scalar_of(zero) for zero in zeros]
    if None in known or all(known):
        return R.add(R.subtract(product, by_weights()), R.subtract(count(), by_data()))
    if known[1]:
        return R.subtract(product, by_weights())
    return R.subtract(product, by_data()) if known[0] else product


def convolution(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.conv2d` in four terms; None where sums of windows do not help.

    Windows with holes and channels in groups have no pooling that sums them up.
    """
    layout, letters = str(attrs.data_layout), str(attrs.kernel_layout)
    data, kernel = static_extents(types[0]), static_extents(types[1])
    if layout not in _SPATIAL or letters not in _KERNELS or attrs.out_dtype != "int32":
        return None
    if data is None or kernel is None:
        return None
    zeros = list(args[2:4])
    known: list[Any] = [scalar_of(zero) for zero in zeros]
    depthwise = int(attrs.groups) > 1
    channel, height = layout.index("C"), letters.index("H")
    filters = [extent for extent, letter in zip(kernel, letters) if letter in "OI"]
    if depthwise and (data[channel] != int(attrs.groups) or prod(filters) != data[channel]):
        return None  # not one filter for each channel
    if any(int(step) != 1 for step in attrs.dilation) and (None in known or known[1]):
        return None
    low, high = limits(types[0].dtype)
    if known[0] is not None and not low <= known[0] <= high:
        return None  # which no element at the edge could have
    x, w = args[0], args[1]
    top, left, bottom, right = nn.utils.get_pad_tuple2d(attrs.padding)
    if any((top, left, bottom, right)):
        widths = [[0, 0] for _ in data]
        widths[_SPATIAL[layout][0]] = [top, bottom]
        widths[_SPATIAL[layout][1]] = [left, right]
        x = nn.pad(x, widths, zeros[0])
    product = Call(Op.get("nn.conv2d"), [x, w], attrs.replaced(padding=(0, 0, 0, 0)))
    window = kernel[height : height + 2]
    if None in known:  # one for each channel of the result
        zeros[1] = R.reshape(zeros[1], [-1])
        if layout == "NCHW":
            zeros[1] = R.expand_dims(zeros[1], 1, 2)

    def by_weights() -> Any:
        sums = R.cast(x, "int32")
        if not depthwise:
            sums = R.sum(sums, [channel], keepdims=True)
        if prod(window) != 1:
            sums = R.multiply(sums, const(prod(window), "int32"))
        if prod(window) != 1 or any(int(step) != 1 for step in attrs.strides):
            options = op_attrs.AvgPool2DAttrs(
                pool_size=window, strides=attrs.strides, layout=layout
            )
            sums = Call(Op.get("nn.avg_pool2d"), [sums], options)
        if None in known and depthwise:
            return R.multiply(R.repeat(zeros[1], 1, 0), sums)
        if None in known:
            sums = R.repeat(sums, kernel[letters.index("O")], channel)
        return R.multiply(zeros[1], sums)

    def by_data() -> Any:
        over = [letters.index(s) for s in letters if s in "HW" or (s == "I" and not depthwise)]
        shape = [1, 1, 1, 1]
        outputs = [extent for at, extent in enumerate(kernel) if at not in over]
        shape[channel] = prod(outputs)
        return R.multiply(zeros[0], R.reshape(R.sum(R.cast(w, "int32"), over), shape))

    def count() -> Any:
        each = prod(window) * (1 if depthwise else data[channel])
        if None not in known:
            return const(each * prod(known), "int32")
        return R.multiply(const(each, "int32"), R.multiply(*zeros))

    return total(product, zeros, by_weights, by_data, count)


def matrices(
    product: Any, args: Sequence[Any], types: Sequence[Any], batch: bool
) -> Any:  # fmt: skip
    """`qnn.dense` and `qnn.batch_matmul` in four terms; None where the extents are not known."""
    data, weight = static_extents(types[0]), static_extents(types[1])
    if data is None or weight is None or types[-1].dtype != "int32":
        return None
    last, zeros = len(data) - 1, args[2:4]
    known: list[Any] = [scalar_of(zero) for zero in zeros]

    def by_weights() -> Any:
        sums = R.sum(R.cast(args[0], "int32"), [last], keepdims=True)
        if not batch and known[1] is None:
            sums = R.repeat(sums, weight[0], 1)
        return R.multiply(zeros[1], sums)

    def by_data() -> Any:
        sums = R.sum(R.cast(args[1], "int32"), [last], keepdims=batch)
        made = R.multiply(zeros[0], sums)
        return R.reshape(made, [0, 1, weight[1]]) if batch else made

    def count() -> Any:
        if None not in known:
            return const(data[last] * prod(known), "int32")
        return R.multiply(R.multiply(*zeros), const(data[last], "int32"))

    return total(product, zeros, by_weights, by_data, count)
