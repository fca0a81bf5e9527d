"""Shapes: reshape, transpose, broadcast, and the shape of a value."""

from __future__ import annotations

import functools
from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert


@convert("Reshape")
def reshape_attribute(node: Node) -> Result:
    """The shape as an attribute."""
    return op.reshape(node[0], _resolved(node, [int(s) for s in node.attr("shape")]))


@convert("Reshape", since=5)
def reshape(node: Node) -> Result:
    """The shape as an input: 0 keeps the extent (unless `allowzero`), -1 is the rest."""
    if node.known(1) is None:
        shape = node.bb.emit(op.tensor_to_shape(node[1]))
        return op.reshape(node[0], shape)
    return op.reshape(node[0], _resolved(node, node.sizes(1, "shape")))


def _resolved(node: Node, sizes: list[Any]) -> list[Any]:
    if node.attr("allowzero", 0):
        return sizes
    shape: list[Any] = []
    for axis, size in enumerate(sizes):
        keeps = not isinstance(size, PrimExpr) and size == 0
        shape.append(node.shape(0)[axis] if keeps else size)
    return shape


@convert("Flatten")
def flatten(node: Node) -> Result:
    """All axes before `axis` as one, all others as one."""
    axis, shape = node.axis(1), node.shape(0)

    def product(extents: tuple[PrimExpr, ...]) -> Any:
        return functools.reduce(lambda a, b: a * b, extents) if extents else 1

    return op.reshape(node[0], [product(shape[:axis]), product(shape[axis:])])


@convert("Transpose")
def transpose(node: Node) -> Result:
    axes = node.attr("perm")
    return op.permute_dims(node[0], None if axes is None else [int(a) for a in axes])


@convert("Squeeze")
def squeeze(node: Node) -> Result:
    axes = node.attr("axes")
    if axes is None and node.has(1):
        axes = node.integers(1, "axes")
    return op.squeeze(node[0], None if axes is None else [int(a) for a in axes])


@convert("Unsqueeze")
def unsqueeze(node: Node) -> Result:
    axes = node.attr("axes")
    if axes is None:
        axes = node.integers(1, "axes")
    return op.expand_dims(node[0], [int(a) for a in axes])


@convert("Expand")
def expand(node: Node) -> Result:
    """Broadcasting in both directions: an extent of one in the asked shape keeps the input's."""
    sizes, own = node.sizes(1, "shape"), list(node.shape(0))
    rank = max(len(sizes), len(own))
    asked: list[Any] = [1] * (rank - len(sizes)) + list(sizes)
    padded: list[Any] = [1] * (rank - len(own)) + own

    def is_one(size: Any) -> bool:
        plain = size.value if isinstance(size, IntImm) else size
        return isinstance(plain, int) and plain == 1

    return op.broadcast_to(node[0], [b if is_one(a) else a for a, b in zip(asked, padded)])


@convert("Shape")
def shape_of(node: Node) -> Result:
    """Reached only where the shape is not known while importing."""
    return op.shape_to_tensor(node.bb.emit(op.shape_of(node[0])))


@convert("Size")
def size_of(node: Node) -> Result:
    shape = node.bb.emit(op.shape_to_tensor(node.bb.emit(op.shape_of(node[0]))))
    size: Result = op.prod(shape, [0], keepdims=False)
    return size
