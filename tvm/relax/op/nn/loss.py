"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.op.declare import (
    OPAQUE,
    Array,
    Expr,
    Infer,
    attrs_class,
    relax_op,
    show_shape,
    topi,
    whole,
)
from tvm.relax.op.shapes import common_dtype, like
from tvm.relax.struct_info import VOID, TensorStructInfo

NLLLossAttrs = attrs_class("NLLLossAttrs", "reduction", "ignore_index")
REDUCTIONS = ("none", "sum", "mean")


@relax_op("relax.nn.nll_loss", "predictions: Tensor, targets: Tensor, weights: Tensor?",
          NLLLossAttrs, pattern=OPAQUE)  # fmt: skip
def nll_loss(
    predictions: ExprLike,
    targets: ExprLike,
    weights: ExprLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:
    """Minus the prediction at each target, times its class's weight.   (n, c, ...), (n, ...)

    "mean" divides the sum by the sum of the weights; targets equal to `ignore_index` do not count.
    """
    return nll_loss.call(
        predictions, targets, weights, reduction=reduction,
        ignore_index=whole(ignore_index, "ignore_index"),
    )  # fmt: skip


@nll_loss.infer
def _nll_loss_info(
    ctx: Infer,
    predictions: TensorStructInfo,
    targets: TensorStructInfo,
    weights: TensorStructInfo | None,
    *,
    reduction: str,
    ignore_index: int,
) -> TensorStructInfo:
    if reduction not in REDUCTIONS:
        raise ctx.error("unknown reduction", repr(reduction), ", ".join(REDUCTIONS))
    dtype = predictions.dtype
    if weights is not None:
        dtype = common_dtype(ctx, ("predictions", predictions), ("weights", weights))
        if weights.ndim not in (-1, 1):
            raise ctx.shape_error("weights must have 1 dimension", f"{weights.ndim}", "1")
    if targets.dtype is not VOID and not targets.dtype.is_integer:
        raise ctx.dtype_error("targets must be integers", f"{targets.dtype}", "int64, int32")
    if -1 not in (predictions.ndim, targets.ndim) and predictions.ndim != targets.ndim + 1:
        raise ctx.shape_error(
            "predictions must have one dimension more than targets",
            f"{predictions.ndim} and {targets.ndim}",
        )
    if predictions.values is not None and targets.values is not None:
        at = 0 if predictions.ndim == 1 else 1
        rest = [e for i, e in enumerate(predictions.values) if i != at]
        for a, b in zip(rest, targets.values):
            if ctx.differ(a, b):
                raise ctx.shape_error(
                    "predictions and targets do not fit",
                    f"{show_shape(predictions)}, {show_shape(targets)}",
                    "equal extents but for the classes",
                )
        if (
            weights is not None
            and weights.values
            and ctx.differ(predictions.values[at], weights.values[0])
        ):
            raise ctx.shape_error(
                "weights must have one number for each class",
                f"{show_shape(weights)}",
                f"({predictions.values[at]},)",
            )
    if reduction == "none":
        if predictions.ndim == -1:
            return like(predictions, None, dtype=dtype)
        if predictions.values is None:
            return like(predictions, None, predictions.ndim - 1, dtype)
        at = 0 if predictions.ndim == 1 else 1
        rest = [e for i, e in enumerate(predictions.values) if i != at]
        return like(predictions, rest, dtype=dtype)
    return TensorStructInfo((), dtype, predictions.vdevice)


@nll_loss.legalize
def _nll_loss_te(
    bb: BlockBuilder,
    predictions: Expr,
    targets: Expr,
    weights: Expr | None = None,
    *,
    reduction: str,
    ignore_index: int,
) -> Expr:
    def compute(p: Any, t: Any, w: Any = None) -> Any:
        return topi.nn.nll_loss(p, t, class_weights(p, w), reduction, ignore_index)

    if weights is None:
        name = "nll_loss_without_weight"
        return bb.call_te(compute, predictions, targets, primfunc_name_hint=name)
    return bb.call_te(compute, predictions, targets, weights, primfunc_name_hint="nll_loss")


def class_weights(predictions: Any, weights: Any) -> Any:
    """The weights of the classes in tensor expressions; all 1 where none are given."""
    if weights is not None:
        return weights
    classes = predictions.shape[0 if len(predictions.shape) == 1 else 1]
    return topi.full((classes,), predictions.dtype, 1)


@nll_loss.reference
def _nll_loss_numpy(
    predictions: Array,
    targets: Array,
    weights: Array | None = None,
    *,
    reduction: str,
    ignore_index: int,
) -> Any:
    at = 0 if predictions.ndim == 1 else 1
    classes = predictions.shape[at]
    w = np.ones(classes, predictions.dtype) if weights is None else weights
    counts = targets != ignore_index
    safe = np.where(counts, targets, 0)
    picked = np.take_along_axis(predictions, np.expand_dims(safe, at), at).squeeze(at)
    weight = np.where(counts, w[safe], 0)
    losses = -picked * weight
    if reduction == "none":
        return losses.astype(predictions.dtype)
    total = losses.sum() / (weight.sum() if reduction == "mean" else 1)
    return np.asarray(total, predictions.dtype)
