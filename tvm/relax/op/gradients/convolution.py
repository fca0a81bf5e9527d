"""Gradients of convolutions, which are convolutions again.

The gradient of the data is the transposed convolution of the result's gradient; that of the weight
slides the gradient over the data, the batch being what is summed over. Other layouts are brought
into the plain one first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, TupleGetItem, Var
from tvm.relax.op.datatype import astype
from tvm.relax.op.declare import options_of
from tvm.relax.op.index import strided_slice
from tvm.relax.op.layouts import letters_of
from tvm.relax.op.manipulate import broadcast_to, concat, flip, permute_dims, reshape, split
from tvm.relax.op.nn.conv import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
)
from tvm.relax.op.nn.pad import pad
from tvm.relax.op.relayout import relayout
from tvm.relax.op.statistical import sum as sum_
from tvm.relax.struct_info import const_int

from .common import Expr, Rule, dtype_of, extents, gradient_of, numbers

_CONV: Any = {1: conv1d, 2: conv2d, 3: conv3d}
_TRANSPOSED: Any = {1: conv1d_transpose, 2: conv2d_transpose}
Formula = Callable[[Expr, Expr, Expr, dict[str, Any]], tuple[Expr, Expr]]


def _in_plain_layouts(
    formula: Formula, kernel: str, call: Call, g: Expr, ctx: BlockBuilder
) -> list[Expr]:
    """The gradients by a formula for (N, C, spatial...) and weights `kernel` + spatial."""
    o = options_of(call)
    data, weight = call.args
    count = len(o["strides"])
    plain, plain_kernel = letters_of("NC", count), letters_of(kernel, count)
    if dtype_of(g) != dtype_of(data):
        g = astype(g, dtype_of(data))
    found = formula(
        ctx.normalize_argument(relayout(data, o["data_layout"], plain)),
        ctx.normalize_argument(relayout(weight, o["kernel_layout"], plain_kernel)),
        ctx.normalize_argument(relayout(g, o["out_layout"], plain)),
        o,
    )
    own = (plain, o["data_layout"]), (plain_kernel, o["kernel_layout"])
    return [
        relayout(ctx.normalize_argument(grad), *layouts) for grad, layouts in zip(found, own)
    ]


def _spatial(x: Expr) -> list[int]:
    """The extents behind the first two dimensions, which may be symbolic."""
    return numbers(x, 2)


def _out_padding(data: list[int], kernel: list[int], grad: list[int], o: Any) -> list[int]:
    """What the strides left over at the end of the data."""
    count = len(kernel)
    return [
        data[i]
        - (
            (grad[i] - 1) * o["strides"][i]
            - o["padding"][i]
            - o["padding"][i + count]
            + (kernel[i] - 1) * o["dilation"][i]
            + 1
        )
        for i in range(count)
    ]


def _weight_gradient(data: Expr, grad: Expr, weight: Expr, o: Any) -> Expr:
    """The gradient of a weight (O, I / groups, k...): (N, I, d...) and (N, O, g...) slid over."""
    groups = o["groups"]
    if groups == 1:
        return _ungrouped_weight_gradient(data, grad, weight, o)
    if groups == numbers(weight)[0] and _known_batch(data):
        return _depthwise_weight_gradient(data, grad, weight, o)
    rows, columns = split(data, groups, 1), split(grad, groups, 1)
    parts = [
        _ungrouped_weight_gradient(TupleGetItem(rows, i), TupleGetItem(columns, i), weight, o)
        for i in range(groups)
    ]
    return concat(parts, 0)


def _exchanged(x: Expr) -> Expr:
    return permute_dims(x, [1, 0, *range(2, len(extents(x)))])


def _ungrouped_weight_gradient(data: Expr, grad: Expr, weight: Expr, o: Any) -> Expr:
    """(I, N, d...) and (O, N, g...) -> (I, O, k...) -> (O, I, k...)."""
    kernel = _spatial(weight)
    found = _CONV[len(kernel)](
        _exchanged(data), _exchanged(grad), strides=o["dilation"], padding=o["padding"],
        dilation=o["strides"],
    )  # fmt: skip
    return _cut(_exchanged(found), kernel)


def _known_batch(data: Expr) -> bool:
    return const_int(extents(data)[0]) is not None


def _depthwise_weight_gradient(data: Expr, grad: Expr, weight: Expr, o: Any) -> Expr:
    """One output a group: each pair of channels of each image by itself, then summed."""
    batch, inputs = numbers(data)[:2]
    outputs, per_group, *kernel = numbers(weight)
    size, moved = _spatial(data), _spatial(grad)
    rows = reshape(data, [1, batch * inputs, *size])
    # each input channel of a group meets the group's one output
    pairs = reshape(grad, [batch, outputs, 1, *moved])
    pairs = broadcast_to(pairs, [batch, outputs, per_group, *moved])
    pairs = reshape(pairs, [batch * inputs, 1, *moved])
    found = _CONV[len(kernel)](
        rows, pairs, strides=o["dilation"], padding=o["padding"], dilation=o["strides"],
        groups=batch * inputs,
    )  # fmt: skip
    spans = _spatial(found)
    total = sum_(reshape(found, [batch, outputs, per_group, *spans]), axis=0)
    return _cut(total, kernel)


def _cut(x: Expr, kernel: list[Any]) -> Expr:
    """The data that strides left over at its end belongs to no element of the kernel."""
    count = len(kernel)
    if [const_int(extent) for extent in extents(x)[2:]] == kernel:
        return x
    return strided_slice(x, list(range(2, 2 + count)), [0] * count, kernel)


def _of_convolution(data: Expr, weight: Expr, g: Expr, o: Any) -> tuple[Expr, Expr]:
    kernel = _spatial(weight)
    open_planes = any(const_int(extent) is None for extent in extents(data)[2:])
    if open_planes:
        left_over = [stride - 1 for stride in o["strides"]]  # as much as may be, and then cut
    else:
        left_over = _out_padding(_spatial(data), kernel, _spatial(g), o)
    data_grad = _TRANSPOSED[len(kernel)](
        g, weight, strides=o["strides"], padding=o["padding"], output_padding=left_over,
        dilation=o["dilation"], groups=o["groups"],
    )  # fmt: skip
    if open_planes:
        data_grad = _cut(data_grad, list(extents(data)[2:]))
    return data_grad, _weight_gradient(data, g, weight, o)


def _of_transposed(data: Expr, weight: Expr, g: Expr, o: Any) -> tuple[Expr, Expr]:
    """A transposed convolution exchanges data and result of the convolution with its weight."""
    plain = _CONV[len(o["strides"])](
        g, weight, strides=o["strides"], padding=o["padding"], dilation=o["dilation"],
        groups=o["groups"],
    )  # fmt: skip
    return plain, _weight_gradient(g, data, weight, o)


def _spread(grad: Expr, o: Any) -> Expr:
    """Zeros between the elements: (N, C, n...) -> (N, C, n * stride...)."""
    lead, size = list(extents(grad)[:2]), _spatial(grad)
    pairs = [extent for n in size for extent in (n, 1)]
    widths = [0] * 4 + [w for stride in o["strides"] for w in (0, 0, 0, stride - 1)]
    padded = pad(reshape(grad, [*lead, *pairs]), widths)
    return reshape(padded, [*lead, *(n * s for n, s in zip(size, o["strides"]))])


def _of_convolution3d(data: Expr, weight: Expr, g: Expr, o: Any) -> tuple[Expr, Expr]:
    """The transpose written out: zeros between the elements, the kernel flipped."""
    size = _spatial(data)
    outputs, per_group, *kernel = numbers(weight)
    groups = o["groups"]
    spread = _spread(g, o)
    widths, begins, ends = [0] * 4, [], []
    for i, extent in enumerate(_spatial(spread)):
        span = (kernel[i] - 1) * o["dilation"][i]
        before = span - o["padding"][i]
        after = size[i] + span - extent - before
        widths += [max(before, 0), max(after, 0)]
        begins.append(max(-before, 0))
        ends.append(max(before, 0) + extent + max(after, 0) - max(-after, 0))
    cut = strided_slice(pad(spread, widths), [2, 3, 4], begins, ends)
    flipped = reshape(weight, [groups, outputs // groups, per_group, *kernel])
    flipped = permute_dims(flipped, [0, 2, 1, 3, 4, 5])
    flipped = reshape(flipped, [groups * per_group, outputs // groups, *kernel])
    for axis in (2, 3, 4):
        flipped = flip(flipped, axis)
    grad = conv3d(cut, flipped, dilation=o["dilation"], groups=groups)
    return grad, _weight_gradient(data, g, weight, o)


def _rule(name: str, formula: Formula, kernel: str) -> Rule:
    def rule(orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder) -> list[Expr]:
        if name == "conv2d" and (plain := _of_plain_conv2d(orig_call, output_grad)) is not None:
            return plain
        return _in_plain_layouts(formula, kernel, orig_call, output_grad, ctx)

    rule.__name__ = rule.__qualname__ = f"{name}_grad"
    rule.__doc__ = f"Gradients of `{name}`, in any layout."
    return gradient_of(f"relax.nn.{name}")(rule)


def _of_plain_conv2d(call: Call, g: Expr) -> list[Expr] | None:
    """Over (N, C, h, w) of known extents: the weight's gradient sums over the images.

    Those of each group of channels stand together for it: (groups * N, C / groups, h, w).
    """
    o = options_of(call)
    data, weight = call.args
    layouts = (o["data_layout"], o["kernel_layout"], o["out_layout"])
    sizes = [const_int(extent) for x in (data, weight, g) for extent in extents(x)]
    same = dtype_of(g) == dtype_of(data)
    if layouts != ("NCHW", "OIHW", "NCHW") or None in sizes or not same:
        return None
    kernel = _spatial(weight)
    data_grad = conv2d_transpose(
        g, weight, strides=o["strides"], padding=o["padding"], dilation=o["dilation"],
        output_padding=_out_padding(_spatial(data), kernel, _spatial(g), o), groups=o["groups"],
    )  # fmt: skip
    batch, inputs, *size = numbers(data)
    groups = o["groups"]
    if groups != 1:
        data = reshape(data, [batch, groups, inputs // groups, *size])
        data = permute_dims(data, [1, 0, 2, 3, 4])
        data = reshape(data, [groups * batch, inputs // groups, *size])
    weight_grad = conv2d(
        data, g, strides=o["dilation"], padding=o["padding"], dilation=o["strides"], groups=groups,
        data_layout="CNHW", kernel_layout="IOHW", out_layout="CNHW",
    )  # fmt: skip
    if [const_int(extent) for extent in extents(weight_grad)] != numbers(weight):
        weight_grad = strided_slice(weight_grad, [0, 1, 2, 3], [0, 0, 0, 0], numbers(weight))
    return [data_grad, weight_grad]


conv1d_grad = _rule("conv1d", _of_convolution, "OI")
conv2d_grad = _rule("conv2d", _of_convolution, "OI")
conv3d_grad = _rule("conv3d", _of_convolution3d, "OI")
conv1d_transpose_grad = _rule("conv1d_transpose", _of_transposed, "IO")
conv2d_transpose_grad = _rule("conv2d_transpose", _of_transposed, "IO")
