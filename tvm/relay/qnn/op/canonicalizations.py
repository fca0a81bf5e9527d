"""Functions of 8-bit numbers as tables: what each of the 256 becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.error import TVMError, message
from tvm.relay import op as R
from tvm.relay.expr import const

from .arithmetic import constant_of, limits

RealFunction = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def run_const_expr(expr: Any) -> np.ndarray[Any, Any]:
    """The numbers that a constant expression stands for."""
    known = constant_of(expr)
    if known is None:
        raise TVMError(
            message("the expression is not constant", found=str(expr)[:200], legal="constants")
        )
    return known


def create_integer_lookup_table(
    floating_point_func: RealFunction, input_scale: Any, input_zero_point: Any,
    output_scale: Any, output_zero_point: Any, in_axis: int = -1, out_axis: int = -1,
    in_dtype: str = "uint8", out_dtype: str = "uint8",
) -> np.ndarray[Any, Any]:  # fmt: skip
    """The result for each 8-bit pattern, in the order of the patterns."""
    if in_dtype not in ("int8", "uint8"):
        raise ValueError(f"a table for {in_dtype}; legal: int8, uint8")
    patterns = np.arange(256).astype("uint8").view(in_dtype)
    scale, zero = run_const_expr(input_scale), run_const_expr(input_zero_point)
    real = (patterns.astype("float32") - zero.astype("float32")) * scale.astype("float32")
    with np.errstate(all="ignore"):
        results = floating_point_func(real)
    out_scale, out_zero = run_const_expr(output_scale), run_const_expr(output_zero_point)
    low, high = limits(out_dtype)
    # NaN and infinities: patterns that no number should have
    finite = np.nan_to_num(results / out_scale, nan=0.0, posinf=high - low, neginf=low - high)
    made: np.ndarray[Any, Any] = np.clip(np.round(finite) + out_zero, low, high)
    return made.astype(out_dtype)


def create_integer_lookup_op(
    input_arg: Any, floating_point_func: RealFunction, in_scale: Any, in_zero_point: Any,
    out_scale: Any, out_zero_point: Any, in_axis: int = -1, out_axis: int = -1,
    in_dtype: str = "uint8", out_dtype: str = "uint8",
) -> Any:  # fmt: skip
    """A function of a quantized tensor as one look into a table."""
    table = create_integer_lookup_table(
        floating_point_func, in_scale, in_zero_point, out_scale, out_zero_point, in_axis,
        out_axis, in_dtype, out_dtype,
    )  # fmt: skip
    index = R.reinterpret(input_arg, "uint8")
    return R.take(const(table, out_dtype), index, axis=0, mode="fast")
