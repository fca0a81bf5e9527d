"""A slice replaced by another tensor."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from . import tag
from .common import check_same, stage
from .utils import normal_axis


@explained
def slice_scatter(
    input_tensor: te.Tensor, src: te.Tensor, start: Any, end: Any, step: Any, axis: int
) -> te.Tensor:
    """The tensor with `src` instead of its slice start:end:step along an axis."""
    dim = normal_axis(axis, input_tensor.ndim, "topi.slice_scatter")
    if src.ndim != input_tensor.ndim:
        raise ShapeError(
            f"topi.slice_scatter: a source of {src.ndim} dimensions for {input_tensor.ndim}; "
            "legal: as many"
        )
    for k, (own, other) in enumerate(zip(src.shape, input_tensor.shape)):
        if k != dim:
            check_same("topi.slice_scatter", f"dimension {k} of data and source", own, other)
    start, end = (_from_the_front(bound, input_tensor.shape[dim]) for bound in (start, end))

    def element(*i: Any) -> PrimExpr:
        own = i[dim]
        number = tir.floordiv(own - start, step)
        inside = [own >= start, own < end]
        if not (isinstance(step, int) and step == 1):
            inside.append(tir.floormod(own - start, step).equal(0))
        new = src(*i[:dim], number, *i[dim + 1 :])
        return tir.if_then_else(tir.all(*inside), new, input_tensor(*i))

    return stage(input_tensor.shape, element, "slice_scatter", tag.INJECTIVE)


def _from_the_front(bound: Any, extent: PrimExpr) -> Any:
    """A bound below zero counts from the end, and none lies before the first element."""
    value = bound.value if isinstance(bound, tir.IntImm) else bound
    if isinstance(value, int):
        return value if value >= 0 else tir.max(extent + value, 0)
    if Analyzer().can_prove(value >= 0):
        return value
    return tir.if_then_else(value < 0, tir.max(value + extent, 0), value)
