"""Windows over the spatial axes of (n, c, ...): strides, pads, dilations, biases."""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.tir.expr import IntImm

from .node import Node


def kernel_shape(node: Node, weight: int = 1) -> list[int]:
    """The attribute, or the extents of the weight behind its channels."""
    given = node.attr("kernel_shape")
    if given is not None:
        return [int(k) for k in given]
    extents = node.shape(weight)[2:]
    return [int(e) for e in extents]  # type: ignore[call-overload]


def window(node: Node, kernel: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides, pads and dilations of a window of this size."""
    spatial = len(kernel)
    strides = [int(s) for s in node.attr("strides", [1] * spatial)]
    dilations = [int(d) for d in node.attr("dilations", [1] * spatial)]
    return strides, _pads(node, kernel, strides, dilations), dilations


def _pads(node: Node, kernel: list[int], strides: list[int], dilations: list[int]) -> list[int]:
    """Pads before all dimensions, then after; `auto_pad` follows from the input's extents."""
    spatial = len(kernel)
    mode = auto_pad(node)
    if mode == "NOTSET":
        return [int(p) for p in node.attr("pads", [0] * (2 * spatial))]
    if mode == "VALID":
        return [0] * (2 * spatial)
    totals = []
    for extent, size, stride, dilation in zip(node.shape(0)[2:], kernel, strides, dilations):
        if not isinstance(extent, IntImm):
            raise node.invalid("auto_pad", mode, "explicit pads, as the extent is symbolic")
        out = -(-extent.value // stride)
        reach = (out - 1) * stride + (size - 1) * dilation + 1
        totals.append(max(0, reach - extent.value))
    return shared_out(totals, larger_after=mode == "SAME_UPPER")


def auto_pad(node: Node) -> str:
    """The mode in which pads are found."""
    mode = str(node.attr("auto_pad", "NOTSET")) or "NOTSET"
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise node.invalid("auto_pad", mode, "NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    return mode


def shared_out(totals: list[int], *, larger_after: bool) -> list[int]:
    """Pads before and after each axis that together are `totals`."""
    small = [total // 2 for total in totals]
    large = [total - half for total, half in zip(totals, small)]
    return [*small, *large] if larger_after else [*large, *small]


def with_channel_bias(value: RelaxExpr, bias: RelaxExpr | None, rank: int) -> RelaxExpr:
    """A vector added along the channels."""
    if bias is None:
        return value
    shape = [1, -1] + [1] * (rank - 2)
    if isinstance(bias, Constant):
        return op.add(value, Constant(bias.data.numpy().reshape(shape)))
    return op.add(value, op.reshape(bias, shape))
