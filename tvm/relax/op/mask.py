"""Masks."""

from __future__ import annotations

from typing import Any

from tvm.relax.expr import const, convert_to_expr
from tvm.relax.struct_info import PrimStructInfo, TensorStructInfo

from .create import full_like
from .declare import Expr, script_function
from .search import where


def masked_fill(x: Expr, mask: Expr, value: Any) -> Expr:
    """x with `value` where the mask (a bool tensor) holds."""
    x = convert_to_expr(x)
    info = x.struct_info_
    dtype = info.dtype if isinstance(info, (TensorStructInfo, PrimStructInfo)) else None
    filler = value if isinstance(value, Expr) else const(value, dtype)
    return where(mask, full_like(x, filler), x)


script_function("masked_fill", masked_fill)
