"""Activations."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute, known, same_extent


@explained
def relu(x: te.Tensor) -> te.Tensor:
    """max(x, 0)."""
    return compute(x.shape, lambda *i: te.max(x(*i), tir.const(0, x.dtype)), tag=tag.ELEMWISE)


@explained
def leaky_relu(x: te.Tensor, alpha: float) -> te.Tensor:
    """x where it is positive, else alpha * x."""

    def element(*i: Any) -> PrimExpr:
        value = x(*i)
        return tir.Select(value > 0, value, value * tir.const(alpha, value.dtype))

    return compute(x.shape, element, tag=tag.ELEMWISE)


@explained
def softplus(x: te.Tensor, beta: float = 1.0, threshold: float = 20.0) -> te.Tensor:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold."""

    def element(*i: Any) -> PrimExpr:
        value = x(*i)
        scaled = tir.const(beta, value.dtype) * value
        smooth = tir.const(1.0, value.dtype) / tir.const(beta, value.dtype) * te.log(
            tir.const(1.0, value.dtype) + te.exp(scaled)
        )
        return tir.Select(scaled > tir.const(threshold, value.dtype), value, smooth)

    return compute(x.shape, element, tag=tag.ELEMWISE)


@explained
def prelu(x: te.Tensor, slope: te.Tensor, axis: int = 1) -> te.Tensor:
    """x where it is positive, else slope * x: one slope, or one for each index of an axis."""
    one = slope.ndim == 1 and same_extent(slope.shape[0], 1)
    fits = slope.ndim == 1 and 0 <= axis < x.ndim and (one or _fits(slope.shape[0], x.shape[axis]))
    if not fits:
        raise ShapeError(
            message(
                "prelu",
                found=f"{slope.ndim} dimensions of slope, axis {axis} of {x.ndim} dimensions",
                legal="a vector of slopes: one, or as many as the axis is long",
            )
        )

    if one:
        own = slope
        slope = te.compute((x.shape[axis],), lambda c: own(0), name="slope_broadcasted")

    def element(*i: Any) -> PrimExpr:
        value = x(*i)
        return tir.Select(value > 0, value, value * slope(i[axis]))

    return compute(x.shape, element, tag=tag.BROADCAST)


def _fits(a: Any, b: Any) -> bool:
    return same_extent(a, b) or not (known(a) and known(b))
