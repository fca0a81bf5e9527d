"""Operators of ONNX Runtime on blocks of channels (com.microsoft.nchwc), as it saves them.

Between `ReorderInput` and `ReorderOutput` it keeps pictures as (n, c / b, h, w, b), with channels
filled up to whole blocks. Nothing there mixes channels but convolutions, whose weights lie in
blocks too: pictures stay (n, c, h, w) here, filled up as well, and weights are put in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import tir
from tvm.backend.llvm.machine import host_machine
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.tir.expr import IntImm

from .aliases import activated, standard
from .attributes import weight_extents
from .graph import inner_graphs
from .moving import padded
from .node import Node
from .registry import Result, convert

_DOMAIN = "com.microsoft.nchwc"


def block_size(graph: Any) -> int:
    """How many channels a block has, which the file does not say; 0 for a graph without blocks.

    Filters are whole blocks of 16 or of 8. Where all are both, it is what ONNX Runtime takes on
    this machine: it asks that such a file runs where it was saved.
    """
    filters: set[str] = set()
    extents: dict[str, int] = {}
    graphs, blocked = [graph], False
    while graphs:
        inside = graphs.pop()
        extents |= {name: dims[0] for name, dims in weight_extents(inside).items() if dims}
        for node in inside.node:
            graphs += inner_graphs(node)
            blocked |= node.domain == _DOMAIN
            if node.domain == _DOMAIN and node.op_type == "Conv":
                filters.update(node.input[1:2])
    if not blocked or any(extents.get(name, 0) % 16 for name in filters):
        return 8 if blocked else 0
    features = host_machine().features.split(",")
    return 8 if "+sse2" in features and "+avx512f" not in features else 16


for _name in ("MaxPool", "AveragePool"):
    convert(f"{_DOMAIN}.{_name}")(standard(_name, 12))
for _name in ("GlobalMaxPool", "GlobalAveragePool"):
    convert(f"{_DOMAIN}.{_name}")(standard(_name, 1))


@convert(f"{_DOMAIN}.ReorderInput")
def reorder_input(node: Node) -> Result:
    """Channels first, filled up to whole blocks."""
    value = node[0]
    if node.attr("channels_last", 0):
        value = node.bb.emit(op.permute_dims(value, [0, 3, 1, 2]))
    channels = node.bb.normalize(value).struct_info.shape.values[1]  # type: ignore[attr-defined]
    missing = tir.floormod(-channels, node.reader.block)
    if isinstance(missing, IntImm) and missing.value == 0:
        return value
    return padded(node.bb, value, [0, 0, 0, 0], [0, missing, 0, 0])


@convert(f"{_DOMAIN}.ReorderOutput")
def reorder_output(node: Node) -> Result:
    """The first `channels`, first or last."""
    value, channels = node[0], int(node.required("channels"))
    extent = node.shape(0)[1]
    if not (isinstance(extent, IntImm) and extent.value == channels):
        value = node.bb.emit(op.strided_slice(value, [1], [0], [channels]))
    return op.permute_dims(value, [0, 2, 3, 1]) if node.attr("channels_last", 0) else value


@convert(f"{_DOMAIN}.Conv")
def conv(node: Node) -> Result:
    """A convolution, plus a tensor, through an activation."""
    node.replace(1, _in_order(node))
    product = standard("Conv", 11)(node)
    assert isinstance(product, RelaxExpr), "one output"
    if node.has(3):
        product = op.add(node.bb.emit(product), node[3])
    return activated(node, product, [float(p) for p in node.attr("activation_params", [])])


def _in_order(node: Node) -> RelaxExpr:
    """Filters (o, i, h, w) of such as lie (o / b, i / b, h, w, b of i, b of o).

    Inputs of less than a block, as of pictures and of channels by themselves, are not in blocks.
    """
    block = node.reader.block
    outer, inner, *window = (int(e) for e in node.shape(1))  # type: ignore[call-overload]
    some = block if inner % block == 0 else 1
    if outer % block or len(window) != 2:
        raise node.unfit(1, f"of a multiple of {block} filters in two dimensions", node.shape(1))
    lies = [outer // block, inner // some, *window, some, block]
    order, shape = [0, 5, 1, 4, 2, 3], [outer, inner, *window]
    weight = node[1]
    if isinstance(weight, Constant):
        return Constant(weight.data.numpy().reshape(lies).transpose(order).reshape(shape))
    turned = op.permute_dims(node.bb.emit(op.reshape(weight, lies)), order)
    return op.reshape(node.bb.emit(turned), shape)


@convert(f"{_DOMAIN}.Upsample")
def upsample(node: Node) -> Result:
    """By whole numbers, to the element before or between neighbours."""
    node.replace(2, Constant(np.asarray(node.attr("scales", [1] * 4), "float32")))
    coordinates = node.attr("coordinate_transformation_mode", "asymmetric")
    named = {"coordinate_transformation_mode": coordinates, "nearest_mode": "floor"}
    return standard("Resize", 13, **named)(node)
