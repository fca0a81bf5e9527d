"""Pixels as channels."""

from __future__ import annotations

from tvm.relay.expr import Call
from tvm.relay.op.declare import INJECTIVE, Expr, relay_op, topi


@relay_op("vision.yolo_reorg", "YoloReorgAttrs", operands=("data",), level=5,
          optional={"stride": 1},
          lower=lambda bb, x, *, stride: bb.call_te(topi.vision.reorg, x, stride),
          pattern=INJECTIVE)  # fmt: skip
def yolo_reorg(data: Expr, stride: int) -> Call:
    """Pixels as channels: (b, c, h, w) -> (b, c * s * s, h / s, w / s)."""
    return yolo_reorg.call(data, stride=stride)
