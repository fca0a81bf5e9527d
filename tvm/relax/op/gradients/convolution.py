"""Gradients of convolutions, which are convolutions again.

The gradient of the data is the transposed convolution of the result's gradient; that of the weight
slides the gradient over the data, each pair of channels by itself.
"""

from __future__ import annotations

from typing import Any

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Var
from tvm.relax.op.declare import options_of
from tvm.relax.op.index import strided_slice
from tvm.relax.op.layouts import letters_of
from tvm.relax.op.manipulate import flip, permute_dims, reshape, tile
from tvm.relax.op.nn.conv import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
)
from tvm.relax.op.nn.pad import pad
from tvm.relax.op.statistical import sum as sum_

from .common import Expr, gradient_of, numbers, refuse

_CONV: Any = {1: conv1d, 2: conv2d, 3: conv3d}
_TRANSPOSED: Any = {1: conv1d_transpose, 2: conv2d_transpose}


def _check_layouts(call: Call, count: int, kernel: str) -> dict[str, Any]:
    o = options_of(call)
    plain = (letters_of("NC", count), letters_of(kernel, count), letters_of("NC", count))
    found = (o["data_layout"], o["kernel_layout"], o["out_layout"])
    if found != plain:
        raise refuse(
            call, f"data, kernel and out layout {', '.join(found)}", ", ".join(plain)
        )
    return o


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
    batch, inputs, *size = numbers(data)
    outputs, per_group, *kernel = numbers(weight)
    _, _, *moved = numbers(grad)
    count, groups = len(kernel), o["groups"]
    # each input channel meets the outputs of its own group
    pairs = reshape(grad, [batch, groups, outputs // groups, *moved])
    pairs = reshape(pairs, [batch, groups, 1, outputs // groups, *moved])
    pairs = tile(pairs, [1, 1, per_group, 1, *([1] * count)])
    pairs = reshape(pairs, [batch * inputs * (outputs // groups), 1, *moved])
    rows = reshape(data, [1, batch * inputs, *size])
    found = _CONV[count](
        rows, pairs, strides=o["dilation"], padding=o["padding"], dilation=o["strides"],
        groups=batch * inputs,
    )  # fmt: skip
    spans = [
        (size[i] + o["padding"][i] + o["padding"][i + count] - (moved[i] - 1) * o["strides"][i] - 1)
        // o["dilation"][i]
        + 1
        for i in range(count)
    ]
    total = sum_(
        reshape(found, [batch, groups, per_group, outputs // groups, *spans]), axis=0
    )
    order = [0, 2, 1, *range(3, 3 + count)]
    total = reshape(permute_dims(total, order), [outputs, per_group, *spans])
    if spans == kernel:
        return total
    ends = [outputs, per_group, *kernel]
    return strided_slice(total, list(range(2 + count)), [0] * (2 + count), ends)


def _convolution(count: int, call: Call, g: Expr) -> list[Expr]:
    o = _check_layouts(call, count, "OI")
    data, weight = call.args
    _, _, *size = numbers(data)
    _, _, *kernel = numbers(weight)
    _, _, *moved = numbers(g)
    data_grad = _TRANSPOSED[count](
        g, weight, strides=o["strides"], padding=o["padding"],
        output_padding=_out_padding(size, kernel, moved, o), dilation=o["dilation"],
        groups=o["groups"],
    )  # fmt: skip
    return [data_grad, _weight_gradient(data, g, weight, o)]


def _transposed(count: int, call: Call, g: Expr) -> list[Expr]:
    """A transposed convolution exchanges data and result of the convolution with its weight."""
    o = _check_layouts(call, count, "IO")
    data, weight = call.args
    plain = _CONV[count](
        g, weight, strides=o["strides"], padding=o["padding"], dilation=o["dilation"],
        groups=o["groups"],
    )  # fmt: skip
    return [plain, _weight_gradient(g, data, weight, o)]


def _spread(grad: Expr, o: Any) -> Expr:
    """Zeros between the elements: (N, C, n...) -> (N, C, n * stride...)."""
    lead, size = numbers(grad)[:2], numbers(grad)[2:]
    pairs = [extent for n in size for extent in (n, 1)]
    widths = [0] * 4 + [w for stride in o["strides"] for w in (0, 0, 0, stride - 1)]
    padded = pad(reshape(grad, [*lead, *pairs]), widths)
    return reshape(padded, [*lead, *(n * s for n, s in zip(size, o["strides"]))])


@gradient_of("relax.nn.conv3d")
def conv3d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `conv3d` in NCDHW, OIDHW: its transpose, with zeros between the elements."""
    o = _check_layouts(orig_call, 3, "OI")
    data, weight = orig_call.args
    size = numbers(data)[2:]
    outputs, per_group, *kernel = numbers(weight)
    groups = o["groups"]
    spread = _spread(output_grad, o)
    widths, begins = [0] * 4, [0, 0]
    ends = numbers(spread)[:2]
    for i, extent in enumerate(numbers(spread)[2:]):
        span = (kernel[i] - 1) * o["dilation"][i]
        before = span - o["padding"][i]
        after = size[i] + span - extent - before
        widths += [max(before, 0), max(after, 0)]
        begins.append(max(-before, 0))
        ends.append(max(before, 0) + extent + max(after, 0) - max(-after, 0))
    cut = strided_slice(pad(spread, widths), list(range(5)), begins, ends)
    turned = reshape(weight, [groups, outputs // groups, per_group, *kernel])
    turned = permute_dims(turned, [0, 2, 1, 3, 4, 5])
    turned = reshape(turned, [groups * per_group, outputs // groups, *kernel])
    for axis in (2, 3, 4):
        turned = flip(turned, axis)
    grad = conv3d(cut, turned, dilation=o["dilation"], groups=groups)
    return [grad, _weight_gradient(data, output_grad, weight, o)]


@gradient_of("relax.nn.conv1d")
def conv1d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `conv1d` in NCW, OIW."""
    return _convolution(1, orig_call, output_grad)


@gradient_of("relax.nn.conv2d")
def conv2d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `conv2d` in NCHW, OIHW."""
    return _convolution(2, orig_call, output_grad)


@gradient_of("relax.nn.conv1d_transpose")
def conv1d_transpose_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `conv1d_transpose` in NCW, IOW."""
    return _transposed(1, orig_call, output_grad)


@gradient_of("relax.nn.conv2d_transpose")
def conv2d_transpose_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `conv2d_transpose` in NCHW, IOHW."""
    return _transposed(2, orig_call, output_grad)
