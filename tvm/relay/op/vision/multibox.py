"""Boxes around the points of an image, and where a network moved them."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.relay.expr import Call, TupleWrapper
from tvm.relay.op.declare import Expr, relay_op, topi

from .kernel import kernel


@relay_op("vision.multibox_prior", "MultiBoxPriorAttrs", operands=("data",), level=5,
          lower=kernel(topi.vision.multibox_prior))  # fmt: skip
def multibox_prior(
    data: Expr, sizes: Sequence[float] = (1.0,), ratios: Sequence[float] = (1.0,),
    steps: Sequence[float] = (-1.0, -1.0), offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Call:  # fmt: skip
    """Boxes of some sizes and ratios around each point of an image."""
    return multibox_prior.call(
        data, sizes=tuple(sizes), ratios=tuple(ratios), steps=tuple(steps),
        offsets=tuple(offsets), clip=clip,
    )  # fmt: skip


@relay_op("vision.multibox_transform_loc", "MultiBoxTransformLocAttrs", level=5,
          operands=("cls_prob", "loc_pred", "anchor"),
          lower=kernel(topi.vision.multibox_transform_loc),
          optional={"clip": True, "threshold": 0.01, "variances": (0.1, 0.1, 0.2, 0.2),
                    "keep_background": False})  # fmt: skip
def _transform_loc(
    cls_prob: Expr, loc_pred: Expr, anchor: Expr, clip: bool, threshold: float,
    variances: Sequence[float], keep_background: bool,
) -> Call:  # fmt: skip
    """Boxes with class and score."""
    return _transform_loc.call(
        cls_prob, loc_pred, anchor, clip=clip, threshold=threshold, variances=tuple(variances),
        keep_background=keep_background,
    )  # fmt: skip


def multibox_transform_loc(
    cls_prob: Expr, loc_pred: Expr, anchor: Expr, clip: bool = True, threshold: float = 0.01,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2), keep_background: bool = False,
) -> TupleWrapper:  # fmt: skip
    """Boxes with class and score as a network moved them, and how many are good."""
    made = _transform_loc(
        cls_prob, loc_pred, anchor, clip, threshold, variances, keep_background
    )
    return TupleWrapper(made, 2)
