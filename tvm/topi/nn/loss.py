"""Losses."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import broadcast, tag
from tvm.topi import reduction as _reduction
from tvm.topi.common import check_same, stage


@explained
def nll_loss(
    predictions: te.Tensor, targets: te.Tensor, weights: te.Tensor, reduction: str,
    ignore_index: int,
) -> te.Tensor:  # fmt: skip
    """-predictions at the target class, weighted by class; classes `ignore_index` count nothing.

    (n, c, ...), (n, ...), (c,) -> (n, ...), or a single number for "mean" and "sum"
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"nll_loss: reduction {reduction!r}; legal: 'mean', 'sum', 'none'")
    classes = predictions.shape[0 if predictions.ndim == 1 else 1]
    rest = [n for k, n in enumerate(predictions.shape) if predictions.ndim > 1 and k != 1]
    if targets.ndim != len(rest) or weights.ndim != 1:
        raise ShapeError(
            message(
                "nll_loss",
                found=f"{predictions.ndim} dimensions of predictions, {targets.ndim} of targets, "
                f"{weights.ndim} of weights",
                legal="one less of targets, one of weights",
            )
        )
    for own, other in zip(targets.shape, rest):
        check_same("nll_loss", "dimensions of targets and predictions", own, other)
    check_same("nll_loss", "weights and classes", weights.shape[0], classes)
    zero = tir.const(0, predictions.dtype)
    single = predictions.ndim == 1

    def loss(*i: Any) -> PrimExpr:
        target = targets(*i)
        coords = (target,) if single else (i[0], target, *i[1:])
        value = (zero - predictions(*coords)) * weights(target)
        return _unless(target, ignore_index, value, zero)

    each = stage(targets.shape, loss, "nll_loss", tag.BROADCAST)
    if reduction == "none":
        return each
    total = _whole(each)
    if reduction == "sum":
        return total

    def weight(*i: Any) -> PrimExpr:
        target = targets(*i)
        return _unless(target, ignore_index, weights(target), zero)

    used = stage(targets.shape, weight, "nll_loss", tag.BROADCAST)
    mean: te.Tensor = broadcast.divide(total, _whole(used))
    return mean


def _unless(target: PrimExpr, ignored: int, value: PrimExpr, zero: PrimExpr) -> PrimExpr:
    return tir.Select(target != ignored, value, zero)


def _whole(x: te.Tensor) -> te.Tensor:
    return _reduction.sum(x, axis=list(range(x.ndim))) if x.ndim else x
