"""Operands whose shape is a variable: what most operators do not see of them.

An operator that computes extents looks at written extents only. Where the shape of an operand is a
variable, even one whose values are known, such an operator knows the rank and no more; where it
passes a shape on, it passes the variable on.

    s: R.Shape([5, 7]);  x: R.Tensor(s);   R.exp(x): R.Tensor(s);   R.permute_dims(x): ndim=2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Var
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)


def written_shape(bb: BlockBuilder, shape: RelaxExpr) -> RelaxExpr:
    """The extents that a shape operand stands for, where they are known; else the operand."""
    known: RelaxExpr | None = shape
    while isinstance(known, Var):
        known = bb.lookup_binding(known)
    if isinstance(known, ShapeExpr):
        return known
    info = shape.struct_info_
    if isinstance(info, ShapeStructInfo) and info.values is not None:
        return ShapeExpr(info.values)
    return shape


class ShapeVariables:
    """Stands in for shape variables with known values, so that a rule does not see the values."""

    def __init__(self) -> None:
        self._twins: Final[dict[RelaxExpr, Var]] = {}
        self._origins: Final[dict[RelaxExpr, RelaxExpr]] = {}

    def hide(
        self, infos: Sequence[StructInfo | None], args: Sequence[RelaxExpr]
    ) -> list[StructInfo | None]:
        """The struct infos of the operands without these values."""
        return [
            self._operand(info, args[i] if i < len(args) else None)
            for i, info in enumerate(infos)
        ]

    def _operand(self, info: StructInfo | None, arg: RelaxExpr | None) -> StructInfo | None:
        if isinstance(info, ShapeStructInfo):
            written = info.values is None or isinstance(arg, ShapeExpr)
            return info if written else ShapeStructInfo(ndim=info.ndim, span=info.span)
        return None if info is None else self._hidden(info)

    def _hidden(self, info: StructInfo) -> StructInfo:
        if isinstance(info, TupleStructInfo):
            parts = [self._hidden(field) for field in info.fields]
            same = all(a is b for a, b in zip(parts, info.fields))
            return info if same else TupleStructInfo(parts, info.span)
        if not isinstance(info, TensorStructInfo) or info.values is None:
            return info
        if info.shape is None or isinstance(info.shape, ShapeExpr):
            return info
        return TensorStructInfo(self._twin(info.shape), info.dtype, info.vdevice, span=info.span)

    def _twin(self, shape: RelaxExpr) -> Var:
        """A variable for the shape of which only the rank is known."""
        twin = self._twins.get(shape)
        if twin is None:
            info = shape.struct_info
            assert isinstance(info, ShapeStructInfo), "the shape of a tensor"
            twin = Var(getattr(shape, "name_hint", "shape"), ShapeStructInfo(ndim=info.ndim))
            self._twins[shape] = twin
            self._origins[twin] = shape
        return twin

    def restore(self, info: StructInfo) -> StructInfo:
        """What a rule found, in terms of the variables themselves."""
        if isinstance(info, TupleStructInfo):
            return TupleStructInfo([self.restore(field) for field in info.fields], info.span)
        if isinstance(info, TensorStructInfo) and info.shape is not None:
            origin = self._origins.get(info.shape)
            if origin is not None:
                return TensorStructInfo(origin, info.dtype, info.vdevice, span=info.span)
        return info
