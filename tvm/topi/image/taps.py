"""Elements along an axis as weighted sums of a few, which tables look up: resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm import te
from tvm.tir.expr import IntImm

WRITTEN_OUT: Final = 8  # terms; longer sums are reductions


def weighted_taps(x: te.Tensor, indices: te.Tensor, weights: te.Tensor, axis: int) -> te.Tensor:
    """The sum over k of x at `indices[k, i]`, times `weights[k, i]`, for each i along an axis.

    `indices` (integers) and `weights` (of x's type) are (taps, extent of the result): neighbours in
    the result find theirs side by side. All other axes stay.
    """
    count, out = indices.shape
    shape = [*x.shape[:axis], out, *x.shape[axis + 1 :]]

    def term(at: Sequence[Any], k: Any) -> Any:
        source = (*at[:axis], indices[k, at[axis]], *at[axis + 1 :])
        return x[source] * weights[k, at[axis]]

    if not isinstance(count, IntImm) or count.value > WRITTEN_OUT:
        k = te.reduce_axis((0, count), name="k")
        long: te.Tensor = te.compute(
            shape, lambda *at: te.sum(term(at, k), axis=k), name="resize"
        )
        return long

    def few(*at: Any) -> Any:
        total = term(at, 0)
        for k in range(1, count.value):
            total = total + term(at, k)
        return total

    short: te.Tensor = te.compute(shape, few, name="resize")
    return short
