"""Quantisation: numbers rounded to integers of few bits, and back."""

from __future__ import annotations

from typing import Any

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .registry import convert
from .values import (
    Expr,
    cast,
    dtype_of,
    length,
    promoted,
    rank,
    refuse,
    scalar,
    sizes,
    tensor_of,
)


def _along(bb: BlockBuilder, values: Any, axis: int | None, like: Expr) -> Expr:
    """A scale or a zero point in the data type of `like`, its values along an axis."""
    held = tensor_of(bb, values, dtype_of(like))
    if axis is None:
        return held
    place = axis % rank(like)
    return bb.emit(op.reshape(held, [-1 if i == place else 1 for i in range(rank(like))]))


def _steps(bb: BlockBuilder, x: Expr, scale: Expr, zero: Expr) -> Expr:
    """Whole steps from the zero point; halves go to the even neighbour."""
    inverse = bb.emit(op.divide(scalar(1.0, dtype_of(x)), scale))
    return bb.emit(op.add(op.round(op.multiply(x, inverse)), zero))


def _fake(
    bb: BlockBuilder, x: Expr, scale: Any, zero_point: Any, axis: int | None, low: int, high: int
) -> tuple[Expr, Expr]:
    """To integers and back, and where nothing was cut off."""
    step, zero = (_along(bb, one, axis, x) for one in (scale, zero_point))
    whole = _steps(bb, x, step, zero)
    cut = bb.emit(op.clip(whole, low, high))
    made = bb.emit(op.multiply(op.subtract(cut, zero), step))
    return made, bb.emit(op.equal(whole, cut))


@convert("fake_quantize_per_tensor_affine")
def fake_quantize(
    bb: BlockBuilder, input: Expr, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Expr:
    return _fake(bb, input, scale, zero_point, None, quant_min, quant_max)[0]


@convert("fake_quantize_per_tensor_affine_cachemask")
def fake_quantize_with_mask(
    bb: BlockBuilder, input: Expr, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> tuple[Expr, Expr]:
    return _fake(bb, input, scale, zero_point, None, quant_min, quant_max)


@convert("fake_quantize_per_channel_affine")
def fake_quantize_channels(
    bb: BlockBuilder, input: Expr, scale: Expr, zero_point: Expr, axis: int,
    quant_min: int, quant_max: int,
) -> Expr:  # fmt: skip
    return _fake(bb, input, scale, zero_point, axis, quant_min, quant_max)[0]


@convert("fake_quantize_per_channel_affine_cachemask")
def fake_quantize_channels_with_mask(
    bb: BlockBuilder, input: Expr, scale: Expr, zero_point: Expr, axis: int,
    quant_min: int, quant_max: int,
) -> tuple[Expr, Expr]:  # fmt: skip
    return _fake(bb, input, scale, zero_point, axis, quant_min, quant_max)


def _quantized(
    bb: BlockBuilder, x: Expr, scale: Any, zero_point: Any, axis: int | None, low: int, high: int,
    dtype: str,
) -> Expr:  # fmt: skip
    """Integers from `low` to `high`."""
    step, zero = (_along(bb, one, axis, x) for one in (scale, zero_point))
    return cast(bb, bb.emit(op.clip(_steps(bb, x, step, zero), low, high)), dtype)


def dequantized(
    bb: BlockBuilder, x: Expr, scale: Any, zero_point: Any, axis: int | None, dtype: str | None
) -> Expr:
    """The numbers that integers stand for; zero points are taken from integers of 32 bits.

    That is exact for those of 8 bits, and what integer kernels are made of (`FoldDequantize`).
    """
    kind = dtype or "float32"
    if dtype_of(x) in ("int8", "uint8") and _is_whole(zero_point):
        whole = cast(bb, x, "int32")
        if zero_point is not None:
            whole = bb.emit(op.subtract(whole, _along(bb, zero_point, axis, whole)))
        wide, zero_point = cast(bb, whole, kind), None
    else:
        wide = cast(bb, x, kind)
    step = _along(bb, scale, axis, wide)
    if zero_point is None:
        return op.multiply(wide, step)
    return op.multiply(op.subtract(wide, _along(bb, zero_point, axis, wide)), step)


def _is_whole(zero_point: Any) -> bool:
    if zero_point is None or isinstance(zero_point, int):
        return True
    return not isinstance(zero_point, float) and "int" in dtype_of(zero_point)


@convert("quantize_per_tensor")
def quantize(
    bb: BlockBuilder, input: Expr, scale: Any, zero_point: Any, quant_min: int, quant_max: int,
    dtype: str,
) -> Expr:  # fmt: skip
    return _quantized(bb, input, scale, zero_point, None, quant_min, quant_max, dtype)


@convert("quantize_per_channel")
def quantize_channels(
    bb: BlockBuilder, input: Expr, scales: Any, zero_points: Any, axis: int,
    quant_min: int, quant_max: int, dtype: str,
) -> Expr:  # fmt: skip
    return _quantized(bb, input, scales, zero_points, axis, quant_min, quant_max, dtype)


@convert("dequantize_per_tensor")
def dequantize(
    bb: BlockBuilder, input: Expr, scale: Any, zero_point: Any, quant_min: int, quant_max: int,
    dtype: str, *, out_dtype: str | None = None,
) -> Expr:  # fmt: skip
    return dequantized(bb, input, scale, zero_point, None, out_dtype)


@convert("dequantize_per_channel")
def dequantize_channels(
    bb: BlockBuilder, input: Expr, scales: Any, zero_points: Any, axis: int,
    quant_min: int, quant_max: int, dtype: str, *, out_dtype: str | None = None,
) -> Expr:  # fmt: skip
    return dequantized(bb, input, scales, zero_points, axis, out_dtype)


# --- a scale for each token, or for each group of weights ---


@convert("choose_qparams_per_token")
def choose_per_token(bb: BlockBuilder, input: Expr, dtype: str) -> tuple[Expr, Expr]:
    """Scales and zero points (..., 1): the largest number becomes 127."""
    if dtype != "int8":
        raise refuse("choose_qparams_per_token", f"dtype {dtype}", "int8")
    x = cast(bb, input, "float32") if dtype_of(input) == "float16" else input
    largest = bb.emit(op.max(bb.emit(op.abs(x)), -1, keepdims=True))
    kind = dtype_of(x)
    above = bb.emit(op.maximum(largest, scalar(1e-5, kind)))
    scale = bb.emit(op.divide(above, scalar(127.0, kind)))
    return scale, bb.emit(op.zeros_like(scale))


@convert("choose_qparams_per_token_asymmetric")
def choose_per_token_with_zero(bb: BlockBuilder, input: Expr, dtype: str) -> tuple[Expr, Expr]:
    """Scales (..., 1) of float64 and zero points of int64, from -128 to 127."""
    kind, low, high = dtype_of(input), -128.0, 127.0

    def emit(expr: Expr) -> Expr:
        return bb.emit(expr)

    least = emit(op.minimum(emit(op.min(input, -1, keepdims=True)), scalar(0.0, kind)))
    most = emit(op.maximum(emit(op.max(input, -1, keepdims=True)), scalar(0.0, kind)))
    width = emit(op.divide(emit(op.subtract(most, least)), scalar(high - low, kind)))
    scale = emit(op.maximum(width, scalar(2.0**-23, kind)))
    below, above = emit(op.divide(least, scale)), emit(op.divide(most, scale))
    from_low, from_high = emit(op.add(scalar(low, kind), below)), emit(
        op.add(scalar(high, kind), above)
    )
    is_low = emit(op.greater(emit(op.add(from_low, from_high)), scalar(0.0, kind)))
    zero = emit(op.where(
        is_low, emit(op.subtract(scalar(low, kind), below)),
        emit(op.subtract(scalar(high, kind), above)),
    ))  # fmt: skip
    whole = emit(op.round(emit(op.clip(zero, low, high))))
    return cast(bb, scale, "float64"), cast(bb, whole, "int64")


@convert("quantize_per_token")
def quantize_tokens(
    bb: BlockBuilder, input: Expr, scales: Expr, zero_points: Expr, quant_min: int,
    quant_max: int, dtype: str,
) -> Expr:  # fmt: skip
    return _rounded_last(bb, input, scales, zero_points, quant_min, quant_max, dtype)


@convert("dequantize_per_token")
def dequantize_tokens(
    bb: BlockBuilder, input: Expr, scales: Expr, zero_points: Expr, quant_min: int,
    quant_max: int, dtype: str, output_dtype: str = "float32",
) -> Expr:  # fmt: skip
    return cast(bb, _less_and_scaled(bb, input, scales, zero_points), output_dtype)


@convert("quantize_per_channel_group")
def quantize_groups(
    bb: BlockBuilder, input: Expr, scales: Expr, zero_points: Expr, quant_min: int,
    quant_max: int, dtype: str, group_size: int = 128,
) -> Expr:  # fmt: skip
    groups, (scale, zero) = _in_groups(bb, input, group_size, scales, zero_points)
    numbers = bb.emit(_rounded_last(bb, groups, scale, zero, quant_min, quant_max, dtype))
    return op.reshape(numbers, sizes(input))


@convert("dequantize_per_channel_group")
def dequantize_groups(
    bb: BlockBuilder, w_int8: Expr, scales: Expr, zero_points: Expr | None, quant_min: int,
    quant_max: int, dtype: str, group_size: int = 128, output_dtype: str = "float32",
) -> Expr:  # fmt: skip
    given = [scales] if zero_points is None else [scales, zero_points]
    groups, parts = _in_groups(bb, w_int8, group_size, *given)
    zero = parts[1] if len(parts) > 1 else None
    real = bb.emit(_less_and_scaled(bb, groups, parts[0], zero))
    return cast(bb, bb.emit(op.reshape(real, sizes(w_int8))), output_dtype)


def _rounded_last(
    bb: BlockBuilder, x: Expr, scale: Expr, zero: Expr, low: int, high: int, dtype: str
) -> Expr:
    """As these operators compute: the zero point is added before rounding."""
    one = bb.emit(op.divide(scalar(1.0, dtype_of(scale)), scale))
    steps = bb.emit(op.multiply(*promoted(bb, x, one)))
    moved = bb.emit(op.add(*promoted(bb, steps, zero)))
    return cast(bb, bb.emit(op.clip(bb.emit(op.round(moved)), low, high)), dtype)


def _less_and_scaled(bb: BlockBuilder, x: Expr, scale: Expr, zero: Expr | None) -> Expr:
    whole = x if zero is None else bb.emit(op.subtract(*promoted(bb, x, zero)))
    return bb.emit(op.multiply(*promoted(bb, whole, scale)))


def _in_groups(
    bb: BlockBuilder, x: Expr, size: int, *parts: Expr
) -> tuple[Expr, list[Expr]]:
    """(rows, columns) as (groups, size), with a number of each part for a group."""
    columns = length(x, -1, "groups of weights")
    size = min(size, columns)
    if size < 1 or columns % size:
        raise refuse("groups of weights", f"{columns} columns, groups of {size}", "whole groups")
    rows = bb.emit(op.reshape(x, [-1, size]))
    return rows, [bb.emit(op.reshape(part, [-1, 1])) for part in parts]
