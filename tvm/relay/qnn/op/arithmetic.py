"""Integer arithmetic that quantized operators are written in.

A factor between 0 and 1 is a 32-bit integer and a shift: x * f = (x * m) >> (31 - s), rounded
(Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference, 2018, section 2.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relay import op as R
from tvm.relay.expr import Constant, const
from tvm.relay.ty import is_dynamic
from tvm.relay.variables import free_vars


def constant_of(expr: RelaxExpr) -> np.ndarray[Any, Any] | None:
    """The numbers that an expression is known to be; None if they depend on inputs."""
    if isinstance(expr, Constant):
        return np.asarray(expr.data.numpy())
    if free_vars(expr):
        return None
    from tvm.ir.module import IRModule
    from tvm.relay.transform.fold_constant import FoldConstantExpr

    folded = FoldConstantExpr(expr, IRModule(), True)
    return np.asarray(folded.data.numpy()) if isinstance(folded, Constant) else None


def equal_constants(a: RelaxExpr, b: RelaxExpr) -> bool:
    """True when two operands are the same numbers."""
    if a is b:
        return True
    x, y = constant_of(a), constant_of(b)
    return x is not None and y is not None and x.size == y.size and bool(np.all(x == y))


def is_zero(expr: RelaxExpr) -> bool:
    """True when an operand is known to be 0."""
    known = constant_of(expr)
    return known is not None and bool(np.all(known == 0))


def limits(dtype: Any) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    info = np.iinfo(str(dtype))
    return int(info.min), int(info.max)


def saturated(value: Any, dtype: Any, bits: int = 32) -> Any:
    """A wide integer cut to the range of a type of fewer bits than `bits`."""
    low, high = limits(dtype)
    narrow = np.dtype(str(dtype)).itemsize * 8 < bits
    return R.cast(R.clip(value, low, high) if narrow else value, str(dtype))


def along_axis(expr: Any, found: Any, axis: int, rank: int) -> Any:
    """A scale or zero point for each channel, stretched along its axis; scalars stay."""
    if not found.shape:
        return expr
    if len(found.shape) > 1 or rank <= 1:
        return expr
    behind = rank - 1 - axis % rank
    size = getattr(found.shape[0], "value", None)
    if size == 1:
        return R.reshape(expr, [1] * rank) if rank > 1 else expr
    return R.expand_dims(expr, 1, behind) if behind else expr


def multiplier_and_shift(factor: float) -> tuple[int, int]:
    """`factor` as m / 2**31 * 2**shift, m with 31 bits."""
    if factor == 0:
        return 0, 0
    significand, exponent = math.frexp(factor)
    whole = math.floor(significand * (1 << 31) + 0.5)
    if whole == 1 << 31:
        return 1 << 30, exponent + 1
    return whole, exponent


def times_int32(
    value: Any, factors: Sequence[float], axis: int, found: Any, rounding: str
) -> Any:
    """As `times`, of 32-bit integers whose products with the factors have 32 bits again."""
    if rounding == "TONEAREST":
        return R.cast(times(R.cast(value, "int64"), factors, axis, found, rounding), "int32")
    if len(factors) == 1:
        return R.fixed_point_multiply(value, *multiplier_and_shift(float(factors[0])))
    pairs = [multiplier_and_shift(float(factor)) for factor in factors]
    left = [max(shift, 0) for _, shift in pairs]
    right = [max(-shift, 0) for _, shift in pairs]
    m, to_left, to_right = (
        const(np.array(n, "int32"), "int32") for n in ([m for m, _ in pairs], left, right)
    )
    axes = [axis % len(found.shape)]
    return R.fixed_point_multiply_per_axis(
        value, m, to_left, to_right, any(left), any(right), axes
    )


def times(
    value: Any, factors: Sequence[float], axis: int, found: Any, rounding: str
) -> Any:
    """64-bit integers times one factor, or one for each index of an axis; rounded, 64 bits.

    `found` is the type of the tensor.
    """
    rank = len(found.shape)
    pairs = [multiplier_and_shift(float(factor)) for factor in factors]
    if len(pairs) == 1 and rounding != "TONEAREST" and pairs[0][1] <= 0:
        return R.fixed_point_multiply(value, *pairs[0])
    behind = rank - 1 - axis % rank if rank else 0

    def numbers(found: Sequence[int]) -> Any:
        array = np.array(found, "int64")
        if len(found) == 1:
            return const(array[0], "int64")
        return const(array.reshape([-1, *[1] * behind]), "int64")

    # a product of 32-bit integers has 64 bits; to the left before it would take further ones
    left = [max(shift - 30, 0) for _, shift in pairs]
    right = [31 - min(shift, 30) for _, shift in pairs]
    if any(left):
        value = R.left_shift(value, numbers(left))
    product = R.multiply(value, numbers([m for m, _ in pairs]))
    half: Any = numbers([1 << (total - 1) for total in right])
    if rounding == "TONEAREST":
        less = numbers([(1 << (total - 1)) - 1 for total in right])
        zero: Any = const(0, "int64")
        if not is_dynamic(found):
            zero = R.zeros(found.shape, "int64")
            if len(pairs) == 1:
                half, less = (R.full(each, found.shape, "int64") for each in (half, less))
        half = R.where(R.greater_equal(product, zero), half, less)
    return R.right_shift(R.add(product, half), numbers(right))
