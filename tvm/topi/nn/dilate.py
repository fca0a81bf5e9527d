"""Dilation: room between the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute
from tvm.topi.utils import equal_const_int


@explained
def dilate(
    data: te.Tensor, strides: Sequence[Any], dilation_value: Any = 0.0, name: str = "DilatedInput"
) -> te.Tensor:
    """The elements `strides` apart, `dilation_value` in between."""
    if len(strides) != data.ndim:
        raise ShapeError(
            f"data dimension and strides size dismatch : {data.ndim} vs {len(strides)}"
        )
    if any(isinstance(s, int) and s < 1 for s in strides):
        raise ShapeError(f"dilate: strides {list(strides)}; legal: at least 1")
    simplify = Analyzer().simplify
    shape = tuple(simplify((n - 1) * s + 1) for n, s in zip(data.shape, strides))
    value = (
        dilation_value
        if isinstance(dilation_value, PrimExpr)
        else tir.const(dilation_value, data.dtype)
    )

    def element(*i: Any) -> PrimExpr:
        on_grid: list[PrimExpr] = []
        coords: list[PrimExpr] = []
        for index, stride in zip(i, strides):
            if equal_const_int(stride, 1):
                coords.append(index)
                continue
            coords.append(tir.indexdiv(index, stride))
            on_grid.append(tir.indexmod(index, stride).equal(0))
        if not on_grid:
            return data(*coords)
        return tir.if_then_else(tir.all(*on_grid), data(*coords), value)

    return compute(shape, element, name=name, tag=tag.INJECTIVE + ",dilate")
