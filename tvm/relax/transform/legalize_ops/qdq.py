"""What rules of quantized operators are written with."""

from __future__ import annotations

from tvm.relax.op.qdq import clip_cast
from tvm.tir.expr import FloatImm, IntImm

__all__ = ["clip_cast", "is_const_scalar"]


def is_const_scalar(x: object) -> bool:
    """True for a number that is known."""
    return isinstance(x, (IntImm, FloatImm))
