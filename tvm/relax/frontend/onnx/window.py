"""Windows over the spatial axes of (n, c, ...): strides, pads, dilations, biases."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import named, require_at_least
from tvm.tir.expr import IntImm

from .exact_floats import limited
from .moving import padded
from .node import Node


def kernel_extents(node: Node, weight: int = 1) -> list[PrimExpr | int]:
    """The attribute, or the extents of the weight behind its channels, perhaps symbols."""
    given = node.attr("kernel_shape")
    if given is not None:
        return [int(k) for k in given]
    return [e.value if isinstance(e, IntImm) else e for e in node.shape(weight)[2:]]


def kernel_shape(node: Node, weight: int = 1) -> list[int]:
    """The extents of the kernel, which have to be numbers."""
    extents = [e for e in kernel_extents(node, weight) if isinstance(e, int)]
    if len(extents) < node.rank(weight) - 2:
        legal = "given, or a weight of known extents behind its channels"
        raise node.invalid("kernel_shape", "left out", legal)
    return extents


def window(node: Node, kernel: list[int]) -> tuple[list[int], list[PrimExpr | int], list[int]]:
    """Strides, pads (perhaps symbols) and dilations of a window of this size."""
    spatial = len(kernel)
    strides = [int(s) for s in node.attr("strides", [1] * spatial)]
    dilations = [int(d) for d in node.attr("dilations", [1] * spatial)]
    return strides, _pads(node, kernel, strides, dilations), dilations


def padded_window(
    node: Node, values: Sequence[RelaxExpr], kernel: Sequence[PrimExpr | int], fill: float = 0.0
) -> tuple[list[RelaxExpr], list[int], list[int], list[int]]:
    """Data, strides, pads and dilations; pads that only running tells are put on the data."""
    spatial = len(kernel)
    strides = [int(s) for s in node.attr("strides", [1] * spatial)]
    dilations = [int(d) for d in node.attr("dilations", [1] * spatial)]
    pads = _pads(node, kernel, strides, dilations)
    numbers = [pad for pad in pads if isinstance(pad, int)]
    if len(numbers) == len(pads):
        return list(values), strides, numbers, dilations
    before, after = [0, 0, *pads[:spatial]], [0, 0, *pads[spatial:]]
    wide = [padded(node.bb, value, before, after, "constant", fill) for value in values]
    return wide, strides, [0] * (2 * spatial), dilations


def with_one_window(
    node: Node, kernel: list[int], strides: list[int], pads: list[int], dilations: list[int]
) -> tuple[list[int], dict[int, PrimExpr]]:
    """The pads of a pool, so that it has a window at least; and where windows are left over.

    Runtimes divide towards zero where they count windows: of data that ends less than a step
    before the first window does, there is one. Data of open extents gets the pads that the
    smallest may need; of the windows along an axis the first so many count, which are told where
    they may be fewer.
    """
    spatial = len(kernel)
    after = pads[spatial:]
    counts: dict[int, PrimExpr] = {}
    for i, extent in enumerate(node.shape(0)[2:]):
        reach = (kernel[i] - 1) * dilations[i] + 1 - pads[i] - pads[i + spatial]
        if strides[i] == 1 or reach <= 1:
            continue
        if not isinstance(extent, IntImm):
            more = min(strides[i] - 1, reach - 1)
            require_at_least(node.bb, extent, reach - more)
            after[i] += more
            whole = tir.floordiv(extent + (strides[i] - reach), strides[i])
            counts[2 + i] = tir.max(whole, tir.const(1, "int64"))
        elif 0 < reach - extent.value < strides[i]:
            after[i] += reach - extent.value
    return [*pads[:spatial], *after], counts


def require_window(
    node: Node, kernel: Sequence[PrimExpr | int], pads: list[int], dilations: list[int]
) -> None:
    """Data that is smaller than the kernel, pads included, is refused, when it is known."""
    spatial = len(kernel)
    for i, (extent, size) in enumerate(zip(node.shape(0)[2:], kernel)):
        if not isinstance(size, int):
            continue
        reach = (size - 1) * dilations[i] + 1 - pads[i] - pads[i + spatial]
        if reach <= 1:
            continue
        if not isinstance(extent, IntImm):
            require_at_least(node.bb, extent, reach)
        elif extent.value < reach:
            raise node.invalid(
                f"extent {2 + i} of input 0", extent.value, f"{reach}, which holds one kernel"
            )


def pads_vary(node: Node, kernel: list[int]) -> bool:
    """Whether only running tells the pads."""
    strides = node.attr("strides", [1] * len(kernel))
    return auto_pad(node).startswith("SAME") and any(
        stride > 1 and not isinstance(extent, IntImm)
        for extent, stride in zip(node.shape(0)[2:], strides)
    )


def _pads(
    node: Node, kernel: Sequence[PrimExpr | int], strides: list[int], dilations: list[int]
) -> list[PrimExpr | int]:
    """Pads before all dimensions, then after; `auto_pad` follows from the input's extents."""
    spatial = len(kernel)
    mode = auto_pad(node)
    if mode == "NOTSET":
        return [int(p) for p in node.attr("pads", [0] * (2 * spatial))]
    if mode == "VALID":
        return [0] * (2 * spatial)
    totals: list[PrimExpr | int] = []
    for extent, size, stride, dilation in zip(node.shape(0)[2:], kernel, strides, dilations):
        reach = (size - 1) * dilation + 1
        if isinstance(extent, IntImm) and isinstance(reach, int):
            out = -(-extent.value // stride)
            totals.append(max(0, (out - 1) * stride + reach - extent.value))
        elif stride == 1:
            totals.append(reach - 1)
        else:
            last = tir.floordiv(extent + (stride - 1), stride) - 1
            missing = last * stride + reach - extent
            total = limited(tir.max)(missing, tir.const(0, "int64"))
            totals.append(total if total is missing else named(node.bb, total, "pad"))
    return shared_out(totals, larger_after=mode == "SAME_UPPER")


def auto_pad(node: Node) -> str:
    """The mode in which pads are found."""
    mode = str(node.attr("auto_pad", "NOTSET")) or "NOTSET"
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise node.invalid("auto_pad", mode, "NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    return mode


def shared_out(totals: Sequence[PrimExpr | int], *, larger_after: bool) -> list[PrimExpr | int]:
    """Pads before and after each axis that together are `totals`."""
    small: list[PrimExpr | int] = [
        total // 2 if isinstance(total, int) else tir.floordiv(total, 2) for total in totals
    ]
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
