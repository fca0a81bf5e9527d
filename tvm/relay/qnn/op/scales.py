"""Between real numbers and integers, and from one scale to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.relay import op as R
from tvm.relay.expr import const
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

from .arithmetic import (
    along_axis,
    constant_of,
    equal_constants,
    is_zero,
    limits,
    saturated,
    times,
    times_int32,
)
from .requantize_config import chosen

_VECTOR: Final = TensorType((AnyDim(),), "int32")  # of zero points
_BELOW_INT32 = 2.0**31 - 128  # the last float32 before


def quantized(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """round(x / scale) + zero point, cut to the range of the type."""
    x, scale, zero = args
    rank, axis = len(types[0].shape), int(attrs.axis)
    whole = R.round(R.divide(x, along_axis(scale, types[1], axis, rank)))
    if types[0].dtype == "float16":  # which has not every whole number that is asked for
        whole = R.cast(whole, "float32")
    moved = along_axis(zero, types[2], axis, rank)
    if attrs.out_dtype != "int32":  # cut before the cast: what it makes of greater numbers is open
        wide = "float64" if types[0].dtype == "float64" else "float32"
        return saturated(R.add(whole, R.cast(moved, wide)), attrs.out_dtype)
    whole = R.cast(R.clip(whole, -(2.0**31), _BELOW_INT32), "int64")
    whole = R.add(whole, R.cast(moved, "int64"))
    return R.cast(R.clip(whole, *limits("int32")), "int32")


def dequantized(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """(x - zero point) * scale."""
    x, scale, zero = args
    rank, axis = len(types[0].shape), int(attrs.axis)
    moved = R.subtract(R.cast(x, "int32"), along_axis(zero, types[2], axis, rank))
    real = R.multiply(R.cast(moved, "float32"), along_axis(scale, types[1], axis, rank))
    return real if attrs.out_dtype == "float32" else R.cast(real, attrs.out_dtype)


def requantized_call(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """The call of `qnn.requantize` in plain operators."""
    data, input_scale, input_zero, output_scale, output_zero = args
    return requantized(
        data, input_scale, input_zero, output_scale, output_zero, types,
        axis=int(attrs.axis), out_dtype=str(attrs.out_dtype), rounding=attrs.rounding,
        compute_dtype=attrs.compute_dtype,
    )  # fmt: skip


def requantized(
    x: Any, input_scale: Any, input_zero: Any, output_scale: Any, output_zero: Any,
    types: Sequence[Any], axis: int = -1, out_dtype: str = "int8", rounding: str = "None",
    compute_dtype: str = "None",
) -> Any:  # fmt: skip
    """Integers of one scale and zero point as integers of another."""
    rounding, compute = chosen(rounding, compute_dtype)
    rank = len(types[0].shape)
    zero = along_axis(input_zero, types[2], axis, rank)
    factors = _factors(input_scale, output_scale)
    if compute == "int64" and factors is not None:
        narrow = _fits_int32(types[0].dtype, input_zero, factors, output_zero)
        dtype = "int32" if narrow else "int64"
        value = R.cast(x, dtype)
        if not is_zero(input_zero):
            zero = along_axis(R.reshape(input_zero, [-1]), _VECTOR, axis, rank)
            value = R.subtract(value, R.cast(zero, dtype))
        if not equal_constants(input_scale, output_scale):
            scaled = times_int32 if narrow else times
            value = scaled(value, factors, axis, types[0], rounding)
        if not is_zero(output_zero):
            value = R.add(R.cast(output_zero, dtype), value)
        if narrow and out_dtype == "int32":
            return value
        return saturated(value, out_dtype, 32 if narrow else 64)
    wide = "float64" if compute == "float64" else "float32"
    real = R.subtract(R.cast(x, wide), R.cast(zero, wide))
    factor = R.divide(R.cast(input_scale, wide), R.cast(output_scale, wide))
    real = R.multiply(real, along_axis(factor, types[1], axis, rank))
    half = const(0.5, wide)
    if rounding == "UPWARD":
        whole = R.floor(R.add(real, half))
    else:  # away from zero, where `round` takes the even neighbour of a half
        inner = R.trunc(real)
        outside = R.greater_equal(R.abs(R.subtract(real, inner)), half)
        whole = R.where(outside, R.add(inner, R.sign(real)), inner)
    whole = R.add(R.cast(whole, "int64"), R.cast(output_zero, "int64"))
    return saturated(whole, out_dtype, 64)


def _fits_int32(dtype: Any, zero: Any, factors: Sequence[float], out_zero: Any) -> bool:
    """Whether no element can leave 32 bits on its way."""
    low, high = limits(dtype)
    known, out = constant_of(zero), constant_of(out_zero)
    if known is None or out is None:
        return False
    least, greatest = limits("int32")
    ends = [low - int(known.max()), high - int(known.min())]
    scaled = [end * factor for end in ends for factor in factors]
    every = [*ends, *scaled, *[value + int(out.max()) for value in scaled]]
    return least <= min(every) and max(every) <= greatest


def _factors(input_scale: Any, output_scale: Any) -> list[float] | None:
    """input scale / output scale, in 64 bits; None unless both are known."""
    a, b = constant_of(input_scale), constant_of(output_scale)
    if a is None or b is None:
        return None
    found = a.astype("float64").reshape(-1) / b.astype("float64").reshape(-1)
    return [float(f) for f in np.atleast_1d(found)]


def same_parameters(scale: Any, zero: Any, other_scale: Any, other_zero: Any) -> bool:
    """True when two pairs of scale and zero point are known to be the same."""
    return equal_constants(scale, other_scale) and equal_constants(zero, other_zero)
