"""Operators of torchao: blocks of a tensor that share a scale and a zero point.

`block_size` has the extents of a block: `[1, 32]` are groups of 32 numbers of a row, `[1, k]` one
block a row of k numbers. Scales and zero points have an element a block. An extent of blocks that
is neither 1 nor that of the tensor divides it, so that the axis is taken apart into two.

Weights that torchao quantised are tensors made of tensors; see `Composite`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .dtypes import is_float
from .quantize import dequantized
from .registry import convert
from .values import Expr, Size, cast, dtype_of, product, refuse, same, scalar, sizes

_BOUNDS: Final = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


@dataclass(frozen=True)
class Composite:
    """A weight whose values are those of other tensors, each under the name of an attribute."""

    parts: dict[str, Any]


def is_composite(tensor: Any) -> bool:
    """Whether a tensor of torch is one of a class that wraps other tensors."""
    return hasattr(tensor, "__tensor_flatten__")


def inner_tensors(tensor: Any) -> dict[str, Any]:
    """The tensors of a composite one, by the names of attributes."""
    return {name: getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]}


@convert("access_subclass_inner_tensor")
def inner_tensor(bb: BlockBuilder, src_subclass_tensor: Any, attr: str) -> Any:
    """A tensor of a composite one."""
    if not isinstance(src_subclass_tensor, Composite):
        raise refuse("access_subclass_inner_tensor", f"{attr!r} of a plain tensor", "a weight")
    return src_subclass_tensor.parts[attr]


class _Blocks:
    """How a tensor falls into blocks: its extents with axes taken apart, and which are within."""

    def __init__(self, shape: Sequence[Size], block_size: Sequence[Size]) -> None:
        if len(shape) != len(block_size):
            found = f"{len(block_size)} extents for {len(shape)} axes"
            raise refuse("block_size", found, "an extent for each axis")
        self.apart: list[Size] = []
        self.within: list[int] = []
        self.counts: list[Size] = []  # of blocks along each axis of the tensor
        for extent, block in zip(shape, block_size):
            if same(block, 1):
                self.apart.append(extent)
                self.counts.append(extent)
                continue
            if not same(extent, block) and not _is_surely(extent, block):
                if isinstance(block, PrimExpr):
                    raise refuse("block_size", f"{block} of {extent}", "a number that divides it")
                if not isinstance(extent, PrimExpr) and extent % block:
                    raise refuse("block_size", f"{block} of {extent}", "a number that divides it")
                self.apart.append(extent // block)
                self.counts.append(extent // block)
            else:
                self.counts.append(1)
            self.within.append(len(self.apart))
            self.apart.append(block)

    def split(self, bb: BlockBuilder, x: Expr) -> Expr:
        return x if len(self.apart) == len(self.counts) else bb.emit(op.reshape(x, self.apart))

    def join(self, bb: BlockBuilder, x: Expr, shape: Sequence[Size]) -> Expr:
        return x if len(self.apart) == len(shape) else bb.emit(op.reshape(x, list(shape)))

    def spread(self, bb: BlockBuilder, values: Expr) -> Expr:
        """A number a block, beside the elements of the blocks."""
        wanted = [1 if i in self.within else size for i, size in enumerate(self.apart)]
        have = sizes(values)
        if len(have) == len(wanted) and all(map(same, have, wanted)):
            return values
        return bb.emit(op.reshape(values, wanted))


def _is_surely(a: Size, b: Size) -> bool:
    """Whether two extents are one expression of symbols."""
    return isinstance(a, PrimExpr) and isinstance(b, PrimExpr) and structural_equal(a, b)


def _bounds(dtype: str, low: Any, high: Any) -> tuple[float, float]:
    """The numbers that quantised ones lie between."""
    if dtype in _BOUNDS:
        least, most = -_BOUNDS[dtype], _BOUNDS[dtype]
    elif is_float(dtype):
        raise refuse("quantisation", f"numbers of {dtype}", "integers or float8")
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return least if low is None else low, most if high is None else high


@convert("choose_qparams_affine")
def choose_scales(
    bb: BlockBuilder, input: Expr, mapping_type: str, block_size: Sequence[Size],
    target_dtype: str, quant_min: Any = None, quant_max: Any = None, eps: float | None = None,
    scale_dtype: str | None = None, zero_point_dtype: str | None = None, keepdim: bool = False,
) -> tuple[Expr, Expr]:  # fmt: skip
    """Scales and zero points with which the numbers of a block, and zero, are in range."""
    low, high = _bounds(target_dtype, quant_min, quant_max)
    kind, blocks = dtype_of(input), _Blocks(sizes(input), block_size)
    limits: Any = ml_dtypes.finfo
    least_scale = float(limits(kind).smallest_normal) if eps is None else eps

    def emit(expr: Expr) -> Expr:
        return bb.emit(expr)

    x = blocks.split(bb, input)
    nothing = scalar(0.0, kind)
    least = emit(op.minimum(emit(op.min(x, blocks.within, keepdims=keepdim)), nothing))
    most = emit(op.maximum(emit(op.max(x, blocks.within, keepdims=keepdim)), nothing))
    if mapping_type == "SYMMETRIC":
        largest = emit(op.maximum(emit(op.negative(least)), most))
        scale = emit(op.divide(largest, scalar((high - low) / 2, kind)))
    elif mapping_type == "SYMMETRIC_NO_CLIPPING_ERR":
        below, above = (
            emit(op.divide(part, scalar(float(end), kind)))
            for part, end in ((least, low), (most, high))
        )
        scale = emit(op.maximum(below, above))
    elif mapping_type == "ASYMMETRIC":
        scale = emit(op.divide(emit(op.subtract(most, least)), scalar(float(high - low), kind)))
    else:
        legal = "SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC"
        raise refuse("choose_qparams_affine", f"mapping_type {mapping_type}", legal)
    scale = emit(op.maximum(scale, scalar(least_scale, kind)))
    if mapping_type == "ASYMMETRIC":
        steps = emit(op.round(emit(op.divide(least, scale))))
        whole = emit(op.clip(emit(op.subtract(scalar(float(low), kind), steps)), low, high))
        zero = cast(bb, whole, zero_point_dtype or "int32")
    else:
        middle = op.full_like(scale, scalar(float(int((high + low + 1) / 2)), kind))
        zero = cast(bb, emit(middle), zero_point_dtype or kind)
    if keepdim:
        scale, zero = (emit(op.reshape(part, blocks.counts)) for part in (scale, zero))
    return cast(bb, scale, scale_dtype or kind), zero


@convert("quantize_affine")
def quantize_blocks(
    bb: BlockBuilder, input: Expr, block_size: Sequence[Size], scale: Expr,
    zero_point: Expr | None, output_dtype: str, quant_min: Any = None, quant_max: Any = None,
) -> Expr:  # fmt: skip
    """Whole steps of a scale from the zero point."""
    low, high = _bounds(output_dtype, quant_min, quant_max)
    blocks = _Blocks(sizes(input), block_size)
    step = blocks.spread(bb, scale)
    inverse = bb.emit(op.divide(scalar(1.0, dtype_of(step)), step))
    kind = dtype_of(input) if dtype_of(input) == dtype_of(step) else "float32"
    x = cast(bb, blocks.split(bb, input), kind)
    steps = bb.emit(op.multiply(x, cast(bb, inverse, kind)))
    steps = steps if output_dtype in _BOUNDS else bb.emit(op.round(steps))
    if zero_point is not None:
        steps = bb.emit(op.add(steps, cast(bb, blocks.spread(bb, zero_point), kind)))
    made = cast(bb, bb.emit(op.clip(steps, low, high)), output_dtype)
    return blocks.join(bb, made, sizes(input))


@convert("dequantize_affine")
def dequantize_blocks(
    bb: BlockBuilder, input: Expr, block_size: Sequence[Size], scale: Expr,
    zero_point: Expr | None, input_dtype: str, quant_min: Any = None, quant_max: Any = None,
    output_dtype: str = "float32",
) -> Expr:  # fmt: skip
    """The numbers that quantised ones stand for."""
    blocks = _Blocks(sizes(input), block_size)
    zero = None if zero_point is None else blocks.spread(bb, zero_point)
    step = blocks.spread(bb, scale)
    kind = output_dtype if dtype_of(step) == output_dtype else "float32"
    made = bb.emit(dequantized(bb, blocks.split(bb, input), step, zero, None, kind))
    return cast(bb, blocks.join(bb, made, sizes(input)), output_dtype)


# --- floats of 8 bits ---


@convert("choose_scale_float8")
def choose_scale(
    bb: BlockBuilder, tensor: Expr, block_size: Sequence[Size],
    float8_dtype: str = "float8_e4m3fn", scale_dtype: str = "float32",
    hp_value_lb: float | None = None, hp_value_ub: float | None = None,
) -> Expr:  # fmt: skip
    """Scales (float32) with which the largest number of a block becomes the largest of float8."""
    blocks, kind = _Blocks(sizes(tensor), block_size), dtype_of(tensor)
    size = bb.emit(op.abs(blocks.split(bb, tensor)))
    largest = bb.emit(op.max(size, blocks.within, keepdims=True))
    if hp_value_lb is not None:
        largest = bb.emit(op.maximum(largest, scalar(hp_value_lb, kind)))
    if hp_value_ub is not None:
        largest = bb.emit(op.minimum(largest, scalar(hp_value_ub, kind)))
    scale = bb.emit(op.divide(largest, scalar(_BOUNDS[float8_dtype], kind)))
    scale = bb.emit(op.reshape(scale, blocks.counts))
    if scale_dtype != "float32":  # a power of two
        log = bb.emit(op.divide(bb.emit(op.log(scale)), scalar(float(np.log(2.0)), kind)))
        scale = bb.emit(op.power(scalar(2.0, kind), bb.emit(op.round(log))))
    return cast(bb, scale, "float32")


@convert("quantize_affine_float8_non_decomposed")
def quantize_float8(
    bb: BlockBuilder, tensor: Expr, scale: Expr, float8_dtype: str = "float8_e4m3fn"
) -> Expr:
    """Numbers in steps of their scale, those beyond the range at its ends."""
    most = _BOUNDS[float8_dtype]
    blocks = _Blocks(sizes(tensor), _extents_of_blocks(tensor, scale))
    wide = blocks.split(bb, cast(bb, tensor, "float32"))
    scaled = bb.emit(op.divide(wide, blocks.spread(bb, scale)))
    made = cast(bb, bb.emit(op.clip(scaled, -most, most)), float8_dtype)
    return blocks.join(bb, made, sizes(tensor))


@convert("dequantize_affine_float8_non_decomposed")
def dequantize_float8(
    bb: BlockBuilder, tensor: Expr, scale: Expr, output_dtype: str = "float32"
) -> Expr:
    """The numbers that floats of 8 bits stand for."""
    blocks = _Blocks(sizes(tensor), _extents_of_blocks(tensor, scale))
    wide = blocks.split(bb, cast(bb, tensor, "float32"))
    made = bb.emit(op.multiply(wide, blocks.spread(bb, scale)))
    return cast(bb, blocks.join(bb, made, sizes(tensor)), output_dtype)


def _extents_of_blocks(tensor: Expr, scale: Expr) -> list[Size]:
    """The blocks that numbers of scales tell: one of a tensor, or a number for each block."""
    shape, counts = sizes(tensor), sizes(scale)
    if same(product(counts), 1):
        return shape
    if len(shape) != len(counts):
        found = f"scales of {len(counts)} axes for a tensor of {len(shape)}"
        raise refuse("scales of float8", found, "as many axes, or one scale")
    return [
        1 if same(size, count) else size if same(count, 1) else operator.floordiv(size, count)
        for size, count in zip(shape, counts)
    ]
