"""What rules of quantized operators are written with."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.tir import op as tir_op
from tvm.tir.expr import FloatImm, IntImm


def clip_cast(val: Any, dtype: str) -> PrimExpr:
    """The value brought into the range of `dtype`, and cast to it."""
    low, high = tir_op.min_value(dtype), tir_op.max_value(dtype)
    kept = tir_op.max(tir_op.min(val, high.astype(val.dtype)), low.astype(val.dtype))
    result: PrimExpr = kept.astype(dtype)
    return result


def is_const_scalar(x: object) -> bool:
    """True for a number that is known."""
    return isinstance(x, (IntImm, FloatImm))
