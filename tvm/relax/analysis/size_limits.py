"""The largest sizes that a function was made for: its attribute `tir_var_upper_bound`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tvm.relax.expr import Function
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.tir.expr import Var


@dataclass(frozen=True)
class SizeLimit:
    """A symbol, the most that it may be, and the parameter and dimension that it stands for."""

    symbol: Var
    most: int
    param: str
    axis: int


def size_limits(func: Function) -> list[SizeLimit]:
    """The limits of symbols that are an extent of a parameter by themselves, in their order."""
    bounds = func.attrs.get("tir_var_upper_bound")
    if not isinstance(bounds, Mapping):
        return []
    found: dict[Var, SizeLimit] = {}
    for param in func.params:
        info = param.struct_info_
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
            continue
        for axis, extent in enumerate(info.shape.values):
            if isinstance(extent, Var) and extent.name in bounds and extent not in found:
                most = int(bounds[extent.name])
                found[extent] = SizeLimit(extent, most, param.name_hint, axis)
    return list(found.values())
