"""Detections: choosing boxes."""

from __future__ import annotations

from typing import Any

from tvm.relay.expr import TupleWrapper

from .declare import Expr, relay_op, topi


@relay_op("vision.get_valid_counts", "GetValidCountsAttrs", operands=("data",), level=5,
          lower=lambda bb, x, *, score_threshold, id_index, score_index: bb.call_te(
              topi.vision.get_valid_counts, x, score_threshold, id_index, score_index)
          )  # fmt: skip
def get_valid_counts(
    data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1
) -> Any:
    """How many boxes have a score above a threshold; they come first."""
    made = get_valid_counts.call(
        data, score_threshold=float(score_threshold), id_index=id_index, score_index=score_index
    )
    return TupleWrapper(made, 3)




__all__ = ["get_valid_counts"]
