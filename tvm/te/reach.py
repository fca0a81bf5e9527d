"""No element of a computed tensor reads a row that its source has not.

    A: (3,)    te.compute((4,), lambda i: A[i])    is refused

Looked at are indices that are an axis itself, outside of conditions: where operands have to agree
in an extent, and nobody asked. Other indices may be right for reasons that are not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import And, IntImm, IterVar, Or, ProducerLoad, Reduce, Select, Var, is_call_of
from tvm.tir.functor import expr_children

from .tensor import Tensor


def check_reach(name: str, axes: Sequence[IterVar], body: Sequence[PrimExpr]) -> None:
    """ShapeError where an axis is longer than that of a tensor which it goes along."""
    extents: dict[Var, int] = {}
    _note(axes, extents)
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, Reduce):
            _note(node.axis, extents)
        elif isinstance(node, ProducerLoad) and isinstance(node.producer, Tensor):
            _compare(name, node.producer, node.indices, extents)
        if isinstance(node, (Select, And, Or)) or _is_condition(node):
            continue
        stack += expr_children(node)


def _note(axes: Sequence[IterVar], extents: dict[Var, int]) -> None:
    for axis in axes:
        if axis.dom is not None and isinstance(axis.dom.extent, IntImm):
            extents[axis.var] = axis.dom.extent.value


def _is_condition(node: PrimExpr) -> bool:
    return is_call_of(node, "tir.if_then_else")


def _compare(
    name: str, source: Tensor, indices: Sequence[PrimExpr], extents: dict[Var, int]
) -> None:
    for axis, (index, extent) in enumerate(zip(indices, source.shape)):
        reached = extents.get(index) if isinstance(index, Var) else None
        if reached is not None and isinstance(extent, IntImm) and reached > extent.value:
            raise ShapeError(
                message(f"te.compute {name!r}: rows 0 to {reached - 1} of axis {axis} of "
                        f"{source.op.name!r}", found=f"an axis of {extent.value}",
                        legal=f"an axis of {reached} or more")
            )  # fmt: skip
