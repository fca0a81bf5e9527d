"""Quantisation: numbers rounded to integers of few bits, and back."""

from __future__ import annotations

from typing import Any

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .registry import convert
from .values import Expr, cast, dtype_of, rank, scalar, tensor_of


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


def _dequantized(
    bb: BlockBuilder, x: Expr, scale: Any, zero_point: Any, axis: int | None, dtype: str | None
) -> Expr:
    """The numbers that integers stand for."""
    wide = cast(bb, x, dtype or "float32")
    step = _along(bb, scale, axis, wide)
    if zero_point is None:
        return op.multiply(wide, step)
    return op.multiply(op.subtract(wide, _along(bb, zero_point, axis, wide)), step)


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
    return _dequantized(bb, input, scale, zero_point, None, out_dtype)


@convert("dequantize_per_channel")
def dequantize_channels(
    bb: BlockBuilder, input: Expr, scales: Any, zero_points: Any, axis: int,
    quant_min: int, quant_max: int, dtype: str, *, out_dtype: str | None = None,
) -> Expr:  # fmt: skip
    return _dequantized(bb, input, scales, zero_points, axis, out_dtype)
