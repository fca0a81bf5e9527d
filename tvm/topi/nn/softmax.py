"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute
from tvm.topi.math import fast_exp


class _Rows:
    """Rows along one axis: their maximum and sums, and indices with and without the axis."""

    def __init__(self, x: te.Tensor, axis: int) -> None:
        dim = axis + x.ndim if axis < 0 else axis
        if not 0 <= dim < x.ndim:
            raise ShapeError(
                message(
                    "axis parameter should be less than input dim",
                    found=f"axis {axis} of a tensor of {x.ndim} dimensions",
                    legal=f"{-x.ndim} <= axis < {x.ndim}",
                )
            )
        self.x, self.axis = x, dim
        self.shape = tuple(s for i, s in enumerate(x.shape) if i != dim)

    def own(self, i: tuple[Any, ...]) -> tuple[Any, ...]:
        """The index of the row of an element."""
        return tuple(index for k, index in enumerate(i) if k != self.axis)

    def reduced(
        self, reducer: Callable[..., Any], value: Callable[..., PrimExpr], name: str = "compute"
    ) -> te.Tensor:
        """`value` of each element of a row reduced to one; it is given the element and the row."""
        k = te.reduce_axis((0, self.x.shape[self.axis]), name="k")

        def element(*i: Any) -> PrimExpr:
            result: PrimExpr = reducer(value((*i[: self.axis], k, *i[self.axis :]), i), axis=k)
            return result

        return compute(self.shape, element, name=name)


@explained
def softmax_common(x: te.Tensor, axis: int, use_fast_exp: bool) -> te.Tensor:
    """exp(x) / sum(exp(x)) along an axis, the maximum taken away first."""
    return _softmax(x, axis, use_fast_exp, "")


def _softmax(x: te.Tensor, axis: int, use_fast_exp: bool, tag: str) -> te.Tensor:
    rows = _Rows(x, axis)
    largest = rows.reduced(te.max, lambda at, row: x(*at), "T_softmax_maxelem")
    if use_fast_exp:
        delta = compute(x.shape, lambda *i: x(*i) - largest(*rows.own(i)), name="T_softmax_delta")
        powers = fast_exp(delta)
    else:
        powers = compute(
            x.shape, lambda *i: te.exp(x(*i) - largest(*rows.own(i))), name="T_softmax_exp"
        )
    total = rows.reduced(te.sum, lambda at, row: powers(*at), "T_softmax_expsum")
    return compute(
        x.shape,
        lambda *i: powers(*i) / total(*rows.own(i)),
        name="T_softmax_norm",
        tag=tag,
        attrs={"axis": rows.axis},
    )


@te.tag_scope(tag="softmax_output")
@explained
def softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    return softmax_common(x, axis, False)


@explained
def fast_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """softmax with a polynomial for exp."""
    return _softmax(x, axis, True, "fast_softmax_output")


@te.tag_scope(tag="log_softmax_output")
@explained
def log_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """x - log(sum(exp(x))) along an axis, the maximum taken away first."""
    rows = _Rows(x, axis)
    largest = rows.reduced(te.max, lambda at, row: x(*at), "T_softmax_maxelem")
    total = rows.reduced(te.sum, lambda at, row: te.exp(x(*at) - largest(*row)))
    return compute(
        x.shape,
        lambda *i: x(*i) - largest(*rows.own(i)) - te.log(total(*rows.own(i))),
        attrs={"axis": rows.axis},
    )
