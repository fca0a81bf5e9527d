"""Gradients of pooling and of resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Var
from tvm.relax.op.declare import options_of
from tvm.relax.op.grad.grad import avg_pool2d_backward, max_pool2d_backward
from tvm.relax.op.image.image import resize_weights
from tvm.relax.op.layouts import letters_of
from tvm.relax.op.linear_algebra import matmul
from tvm.relax.op.manipulate import expand_dims, permute_dims, reshape, squeeze
from tvm.relax.op.nn.pool import max_pool2d
from tvm.relax.op.relayout import relayout

from .common import Expr, array_const, extents, gradient_of, no_grads, numbers


def _plain(call: Call, g: Expr, count: int) -> tuple[Expr, Expr]:
    """The operand and the gradient in (N, C, spatial...)."""
    o, plain = options_of(call), letters_of("NC", count)
    out_layout = o.get("out_layout", o["layout"])
    return relayout(call.args[0], o["layout"], plain), relayout(g, out_layout, plain)


def _back(call: Call, grad: Expr, count: int) -> Expr:
    return relayout(grad, letters_of("NC", count), options_of(call)["layout"])


def _of_pool(call: Call, g: Expr, backward: Any) -> list[Expr]:
    """Two spatial dimensions as they are; one with another of extent 1."""
    o = options_of(call)
    count = len(o["pool_size"])
    x, g = _plain(call, g, count)
    options = {name: o[name] for name in ("pool_size", "strides", "padding", "dilation")}
    if count == 1:
        x, g = expand_dims(x, 2), expand_dims(g, 2)
        before, after = options["padding"]
        options = {name: (1, *value) for name, value in options.items()}
        options["padding"] = (0, before, 0, after)
    grad = backward(
        g, x, **options, ceil_mode=o["ceil_mode"], count_include_pad=o["count_include_pad"]
    )
    return [_back(call, squeeze(grad, 2) if count == 1 else grad, count)]


@gradient_of("relax.nn.max_pool2d")
def max_pool2d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `max_pool2d`: it goes to the largest of each window, the first of equals."""
    return _of_pool(orig_call, output_grad, max_pool2d_backward)


@gradient_of("relax.nn.avg_pool2d")
def avg_pool2d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `avg_pool2d`: each of a window gets an equal part."""
    return _of_pool(orig_call, output_grad, avg_pool2d_backward)


@gradient_of("relax.nn.max_pool1d")
def max_pool1d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `max_pool1d`."""
    return _of_pool(orig_call, output_grad, max_pool2d_backward)


@gradient_of("relax.nn.avg_pool1d")
def avg_pool1d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `avg_pool1d`."""
    return _of_pool(orig_call, output_grad, avg_pool2d_backward)


def _along_axes(g: Expr, first: int, weights: Sequence[Any]) -> Expr:
    """The gradient times a matrix (out, in) along each axis from `first` on."""
    ndim = first + len(weights)
    for i, weight in enumerate(weights):
        axis = first + i
        order = [a for a in range(ndim) if a != axis] + [axis]
        moved = matmul(permute_dims(g, order), array_const(weight, g))
        g = permute_dims(moved, [order.index(a) for a in range(ndim)])
    return g


def _means(size: int, parts: int) -> Any:
    """Row i has the share of each element in the mean of part i."""
    weights = np.zeros((parts, size))
    for i in range(parts):
        start, end = i * size // parts, -(-(i + 1) * size // parts)
        weights[i, start:end] = 1 / (end - start)
    return weights


def _of_adaptive(call: Call, g: Expr) -> list[Expr]:
    count = len(options_of(call)["output_size"] or extents(call.args[0])[2:])
    x, g = _plain(call, g, count)
    pairs = zip(numbers(x, 2), numbers(g, 2))
    return [_back(call, _along_axes(g, 2, [_means(size, n) for size, n in pairs]), count)]


def _shares(size: int, parts: int, o: dict[str, Any], i: int) -> Any:
    """Row i has the share of each element in the mean of window i, along one axis."""
    count = len(o["pool_size"])
    width, stride, step = o["pool_size"][i], o["strides"][i], o["dilation"][i]
    before, after = o["padding"][i], o["padding"][i + count]
    weights = np.zeros((parts, size))
    for k in range(parts):
        taps = [k * stride - before + t * step for t in range(width)]
        inside = [at for at in taps if 0 <= at < size]
        counted = [at for at in taps if at < size + after] if o["count_include_pad"] else inside
        weights[k, inside] = 1 / max(len(counted), 1)
    return weights


@gradient_of("relax.nn.avg_pool3d")
def avg_pool3d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `avg_pool3d`: each of a window gets an equal part."""
    o = options_of(orig_call)
    x, g = _plain(orig_call, output_grad, 3)
    pairs = zip(numbers(x, 2), numbers(g, 2))
    shares = [_shares(size, n, o, i) for i, (size, n) in enumerate(pairs)]
    return [_back(orig_call, _along_axes(g, 2, shares), 3)]


@gradient_of("relax.nn.max_pool3d")
def max_pool3d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `max_pool3d`: the largest of each plane's window, then of the planes."""
    o = options_of(orig_call)
    x, g = _plain(orig_call, output_grad, 3)
    n, c = extents(x)[:2]
    d, h, w = numbers(x, 2)
    parts, rows, columns = numbers(g, 2)
    low, high = o["padding"][:3], o["padding"][3:]
    plane = {
        "pool_size": o["pool_size"][1:], "strides": o["strides"][1:],
        "dilation": o["dilation"][1:], "padding": (*low[1:], *high[1:]),
        "ceil_mode": o["ceil_mode"],
    }  # fmt: skip
    depth = {
        "pool_size": (o["pool_size"][0], 1), "strides": (o["strides"][0], 1),
        "dilation": (o["dilation"][0], 1), "padding": (low[0], 0, high[0], 0),
        "ceil_mode": o["ceil_mode"],
    }  # fmt: skip
    planes = reshape(x, [n * c, d, h, w])
    largest = reshape(max_pool2d(planes, **plane), [n * c, 1, d, rows * columns])
    inner = reshape(g, [n * c, 1, parts, rows * columns])
    inner = max_pool2d_backward(inner, largest, **depth)
    grad = max_pool2d_backward(reshape(inner, [n * c, d, rows, columns]), planes, **plane)
    return [_back(orig_call, reshape(grad, [n, c, d, h, w]), 3)]


@gradient_of("relax.nn.adaptive_avg_pool1d")
def adaptive_avg_pool1d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `adaptive_avg_pool1d`: each of a part gets an equal share."""
    return _of_adaptive(orig_call, output_grad)


@gradient_of("relax.nn.adaptive_avg_pool2d")
def adaptive_avg_pool2d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `adaptive_avg_pool2d`."""
    return _of_adaptive(orig_call, output_grad)


@gradient_of("relax.nn.adaptive_avg_pool3d")
def adaptive_avg_pool3d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `adaptive_avg_pool3d`."""
    return _of_adaptive(orig_call, output_grad)


@gradient_of("relax.image.resize2d")
def resize2d_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `resize2d`: each result goes back by the weights it was made with."""
    x, g = _plain(orig_call, output_grad, 2)
    weights = resize_weights(numbers(x, 2), numbers(g, 2), options_of(orig_call))
    grad = _back(orig_call, _along_axes(g, 2, weights), 2)
    return [grad, *no_grads(orig_call.args[1:])]
