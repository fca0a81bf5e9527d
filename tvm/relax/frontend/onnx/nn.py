"""Neural network layers: convolution, pooling, normalisation, softmax."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert

_CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_MAX_POOLS = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG_POOLS = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


def _by_rank(node: Node, table: Mapping[int, Callable[..., RelaxExpr]]) -> Callable[..., RelaxExpr]:
    spatial = node.rank(0) - 2
    if spatial not in table:
        legal = ", ".join(str(n) for n in table)
        raise node.invalid("the number of spatial dimensions", spatial, legal)
    return table[spatial]


def _pads(node: Node, kernel: list[int], strides: list[int], dilations: list[int]) -> list[int]:
    """Pads before all dimensions, then after; `auto_pad` follows from the input's extents."""
    spatial = len(kernel)
    mode = node.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return [int(p) for p in node.attr("pads", [0] * (2 * spatial))]
    if mode == "VALID":
        return [0] * (2 * spatial)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.invalid("auto_pad", mode, "NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    before, after = [], []
    for extent, size, stride, dilation in zip(node.shape(0)[2:], kernel, strides, dilations):
        if not isinstance(extent, IntImm):
            raise node.invalid("auto_pad", mode, "explicit pads, as the extent is symbolic")
        out = -(-extent.value // stride)
        total = max(0, (out - 1) * stride + (size - 1) * dilation + 1 - extent.value)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return [*before, *after]


def _window(node: Node, kernel: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides, pads and dilations of a window of this size."""
    spatial = len(kernel)
    strides = [int(s) for s in node.attr("strides", [1] * spatial)]
    dilations = [int(d) for d in node.attr("dilations", [1] * spatial)]
    return strides, _pads(node, kernel, strides, dilations), dilations


def _kernel_shape(node: Node) -> list[int]:
    given = node.attr("kernel_shape")
    if given is not None:
        return [int(k) for k in given]
    extents = node.shape(1)[2:]
    return [int(e) for e in extents]  # type: ignore[call-overload]


def _with_bias(node: Node, result: RelaxExpr) -> RelaxExpr:
    """The third input added along the channels."""
    bias = node.optional(2)
    if bias is None:
        return result
    shape = [1, -1] + [1] * (node.rank(0) - 2)
    if isinstance(bias, Constant):
        return op.add(result, Constant(bias.data.numpy().reshape(shape)))
    return op.add(result, op.reshape(bias, shape))


@convert("Conv")
def conv(node: Node) -> Result:
    strides, pads, dilations = _window(node, _kernel_shape(node))
    call = _by_rank(node, _CONVOLUTIONS)
    result = call(
        node[0], node[1], strides=strides, padding=pads, dilation=dilations,
        groups=int(node.attr("group", 1)),
    )  # fmt: skip
    return _with_bias(node, node.bb.emit(result))


@convert("ConvTranspose")
def conv_transpose(node: Node) -> Result:
    table = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose}
    if "output_shape" in node.attrs or node.attr("auto_pad", "NOTSET") not in ("NOTSET", ""):
        raise node.invalid("output_shape / auto_pad", "given", "explicit pads")
    spatial = node.rank(0) - 2
    strides, pads, dilations = _window(node, _kernel_shape(node))
    result = _by_rank(node, table)(
        node[0], node[1], strides=strides, padding=pads, dilation=dilations,
        output_padding=[int(p) for p in node.attr("output_padding", [0] * spatial)],
        groups=int(node.attr("group", 1)),
    )  # fmt: skip
    return _with_bias(node, node.bb.emit(result))


@convert("MaxPool")
def max_pool(node: Node) -> Result:
    if node.output_count > 1:
        raise node.invalid("the second output (indices)", "asked for", "one output")
    return _pool(node, _MAX_POOLS)


@convert("AveragePool")
def average_pool(node: Node) -> Result:
    counts = bool(node.attr("count_include_pad", 0))
    return _pool(node, _AVG_POOLS, count_include_pad=counts)


def _pool(node: Node, table: Mapping[int, Callable[..., RelaxExpr]], **options: Any) -> RelaxExpr:
    kernel = [int(k) for k in node.attr("kernel_shape")]
    strides, pads, dilations = _window(node, kernel)
    return _by_rank(node, table)(
        node[0], pool_size=kernel, strides=strides, padding=pads, dilation=dilations,
        ceil_mode=bool(node.attr("ceil_mode", 0)), **options,
    )  # fmt: skip


@convert("GlobalAveragePool")
def global_average_pool(node: Node) -> Result:
    mean: Result = op.mean(node[0], list(range(2, node.rank(0))), keepdims=True)
    return mean


@convert("GlobalMaxPool")
def global_max_pool(node: Node) -> Result:
    largest: Result = op.max(node[0], list(range(2, node.rank(0))), keepdims=True)
    return largest


@convert("BatchNormalization")
def batch_normalization(node: Node) -> Result:
    if node.attr("training_mode", 0):
        raise node.invalid("training_mode", 1, "0: models are imported for inference")
    result = op.nn.batch_norm(
        node[0], node[1], node[2], node[3], node[4], axis=1,
        epsilon=float(node.attr("epsilon", 1e-5)), training=False,
    )  # fmt: skip
    return [node.bb.emit(result)[0]]


@convert("InstanceNormalization")
def instance_normalization(node: Node) -> Result:
    axes = list(range(2, node.rank(0)))
    return op.nn.instance_norm(
        node[0], node[1], node[2], channel_axis=1, axes=axes,
        epsilon=float(node.attr("epsilon", 1e-5)),
    )  # fmt: skip


@convert("GroupNormalization", since=18)
def group_normalization(node: Node) -> Result:
    axes = list(range(2, node.rank(0)))
    return op.nn.group_norm(
        node[0], node[1], node[2], num_groups=int(node.attr("num_groups")), channel_axis=1,
        axes=axes, epsilon=float(node.attr("epsilon", 1e-5)),
    )  # fmt: skip


@convert("LayerNormalization", since=17)
def layer_normalization(node: Node) -> Result:
    if node.output_count > 1:
        raise node.invalid("the outputs mean and deviation", "asked for", "one output")
    rank = node.rank(0)
    axes = list(range(node.axis(-1), rank))
    shift = node.optional(2)
    if shift is None:
        shape = [int(extent) for extent in node.shape(1)]  # type: ignore[call-overload]
        shift = Constant(np.zeros(shape, node.dtype(1)))
    epsilon = float(node.attr("epsilon", 1e-5))
    return op.nn.layer_norm(node[0], node[1], shift, axes=axes, epsilon=epsilon)


def _over_last_axes(
    node: Node, rule: Callable[[RelaxExpr, int], RelaxExpr], axis: int
) -> RelaxExpr:
    """Before operator set 13: all axes from `axis` on are taken as one."""
    if axis == node.rank(0) - 1:
        return rule(node[0], axis)
    shape = node.shape(0)
    flat = op.reshape(node[0], [*shape[:axis], functools.reduce(lambda a, b: a * b, shape[axis:])])
    return op.reshape(rule(flat, axis), shape)


@convert("Softmax")
def softmax_flattened(node: Node) -> Result:
    return _over_last_axes(node, op.nn.softmax, node.axis(1))


@convert("Softmax", since=13)
def softmax(node: Node) -> Result:
    return op.nn.softmax(node[0], node.axis(-1))


@convert("LogSoftmax")
def log_softmax_flattened(node: Node) -> Result:
    return _over_last_axes(node, op.nn.log_softmax, node.axis(1))


@convert("LogSoftmax", since=13)
def log_softmax(node: Node) -> Result:
    return op.nn.log_softmax(node[0], node.axis(-1))


