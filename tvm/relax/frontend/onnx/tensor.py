"""Tensors taken apart and put together: concat, split, slice, gather, pad, create."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, PrimValue

from .node import Node
from .registry import Result, convert


@convert("Constant")
def constant(node: Node) -> Result:
    """Forms that are no shape arithmetic: strings are refused, the rest was read before."""
    value = node.attr("value")
    if not isinstance(value, np.ndarray):
        raise node.invalid("value", type(value).__name__, "a tensor of numbers")
    return Constant(value)


@convert("Concat")
def concat(node: Node) -> Result:
    axis = int(node.attr("axis", 1))
    return op.concat([node[i] for i in range(len(node.inputs))], axis)


@convert("Split")
def split(node: Node) -> Result:
    """Into given lengths, else into as many equal parts as there are outputs."""
    axis = node.axis(0)
    lengths = node.attr("split")
    if lengths is None and node.has(1):
        lengths = node.integers(1, "split")
    if lengths is None:
        parts: Any = int(node.attr("num_outputs", node.output_count))
    else:
        parts = [int(end) for end in np.cumsum(lengths)[:-1]]
    if node.output_count == 1 and lengths is not None and len(lengths) == 1:
        return [node[0]]
    whole = node.bb.emit(op.split(node[0], parts, axis))
    return [whole[i] for i in range(node.output_count)]


@convert("Slice")
def slice_attributes(node: Node) -> Result:
    starts, ends = list(node.attr("starts")), list(node.attr("ends"))
    axes = list(node.attr("axes", range(len(starts))))
    return op.strided_slice(node[0], axes, starts, ends)


@convert("Slice", since=10)
def slice_(node: Node) -> Result:
    starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
    axes = node.integers(3, "axes") if node.has(3) else list(range(len(starts)))
    steps = node.integers(4, "steps") if node.has(4) else [1] * len(starts)
    return op.strided_slice(node[0], axes, starts, ends, steps)


@convert("Gather")
def gather(node: Node) -> Result:
    """Negative indices count from the end."""
    axis = node.axis(0)
    indices = node[1]
    if isinstance(indices, Constant):
        values = indices.data.numpy()
        extent = node.shape(0)[axis]
        size = getattr(extent, "value", None)
        if size is not None:
            return op.take(node[0], Constant(np.where(values < 0, values + size, values)), axis)
    return op.take(node[0], indices, axis, mode="wrap")


@convert("GatherElements")
def gather_elements(node: Node) -> Result:
    return op.gather_elements(node[0], node[1], node.axis(0))


@convert("GatherND")
def gather_nd(node: Node) -> Result:
    return op.gather_nd(node[0], node[1], int(node.attr("batch_dims", 0)))


@convert("Scatter", "ScatterElements")
def scatter_elements(node: Node) -> Result:
    reduction = {"none": "update"}.get(node.attr("reduction", "none"), node.attr("reduction"))
    return op.scatter_elements(node[0], node[1], node[2], node.axis(0), reduction)


@convert("ScatterND")
def scatter_nd(node: Node) -> Result:
    reduction = {"none": "update"}.get(node.attr("reduction", "none"), node.attr("reduction"))
    return op.scatter_nd(node[0], node[1], node[2], reduction)


@convert("Tile")
def tile(node: Node) -> Result:
    return op.tile(node[0], node.integers(1, "repeats"))


@convert("Pad")
def pad_attributes(node: Node) -> Result:
    return _pad(node, [int(p) for p in node.attr("pads")], float(node.attr("value", 0.0)))


@convert("Pad", since=11)
def pad(node: Node) -> Result:
    value = node.scalar(2) if node.has(2) else 0.0
    if value is None:
        raise node.invalid("constant_value", "computed by the model", "a constant")
    return _pad(node, node.integers(1, "pads"), float(value))


def _pad(node: Node, pads: list[int], value: float) -> RelaxExpr:
    """ONNX lists all pads before, then all after; pairs are wanted here."""
    rank = len(pads) // 2
    mode = node.attr("mode", "constant")
    names = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in names:
        raise node.invalid("mode", mode, ", ".join(names))
    width = [pads[i + side * rank] for i in range(rank) for side in (0, 1)]
    return op.nn.pad(node[0], width, names[mode], value)


@convert("ConstantOfShape")
def constant_of_shape(node: Node) -> Result:
    value = node.attr("value")
    fill = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return op.full(node.sizes(0, "shape"), Constant(fill), str(fill.dtype))


@convert("Range")
def range_(node: Node) -> Result:
    parts = [node.known(i) for i in range(3)]
    if any(part is None for part in parts):
        raise node.invalid("start, limit, delta", "computed by the model", "known sizes")
    values = [part.reshape(-1)[0] for part in parts if part is not None]
    plain = [v if isinstance(v, PrimExpr) else v.item() for v in values]
    return op.arange(plain[0], plain[1], plain[2], node.dtype(0))


@convert("OneHot")
def one_hot(node: Node) -> Result:
    depth = node.integers(1, "depth")[0]
    values = node.optional(2)
    if not isinstance(values, Constant):
        raise node.invalid("values", "computed by the model", "a constant")
    off, on = (v.item() for v in values.data.numpy())
    return op.one_hot(node[0], PrimValue(on), PrimValue(off), depth, int(node.attr("axis", -1)))


@convert("Trilu")
def trilu(node: Node) -> Result:
    k = node.integers(1, "k")[0] if node.has(1) else 0
    result: Result = op.triu(node[0], k) if node.attr("upper", 1) else op.tril(node[0], k)
    return result


@convert("DepthToSpace")
def depth_to_space(node: Node) -> Result:
    """(n, c * b * b, h, w) -> (n, c, h * b, w * b), by column (CRD) or by row (DCR) of channels."""
    block = int(node.attr("blocksize"))
    n, c, h, w = node.shape(0)
    channels = c // (block * block)
    if node.attr("mode", "DCR") == "DCR":
        parts = op.reshape(node[0], [n, block, block, channels, h, w])
        moved = op.permute_dims(parts, [0, 3, 4, 1, 5, 2])
    else:
        parts = op.reshape(node[0], [n, channels, block, block, h, w])
        moved = op.permute_dims(parts, [0, 1, 4, 2, 5, 3])
    return op.reshape(moved, [n, channels, h * block, w * block])


@convert("SpaceToDepth")
def space_to_depth(node: Node) -> Result:
    """(n, c, h * b, w * b) -> (n, c * b * b, h, w)."""
    block = int(node.attr("blocksize"))
    n, c, h, w = node.shape(0)
    parts = op.reshape(node[0], [n, c, h // block, block, w // block, block])
    moved = op.permute_dims(parts, [0, 3, 5, 1, 2, 4])
    return op.reshape(moved, [n, c * block * block, h // block, w // block])
