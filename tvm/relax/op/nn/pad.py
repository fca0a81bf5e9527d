"""Padding, and channels moved into space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.op import layout_moves
from tvm.relax.op.declare import (
    INJECTIVE,
    Array,
    Expr,
    Infer,
    OptionError,
    attrs_class,
    int_tuple,
    listed,
    real,
    relax_op,
    topi,
    whole,
)
from tvm.relax.op.shapes import like
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import TensorStructInfo, const_int
from tvm.tir import op as tir_op
from tvm.tir.op.arith import const as tir_const

PadAttrs = attrs_class("PadAttrs", "pad_width", "pad_value", "pad_mode")
PixelShuffleAttrs = attrs_class("PixelShuffleAttrs", "upscale_factor")
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@relax_op("relax.nn.pad", "data: Tensor", PadAttrs, pattern=INJECTIVE)
def pad(
    data: ExprLike,
    pad_width: Sequence[Any],
    pad_mode: str | None = "constant",
    pad_value: float | None = 0.0,
) -> Call:
    """`pad_width` elements more before and after each dimension: [before0, after0, before1, ...].

    They are `pad_value`, or by `pad_mode` the tensor's own: reflect, replicate, circular.
    """
    mode = pad_mode or "constant"
    if not isinstance(mode, str) or mode not in MODES:
        raise OptionError(f"pad: pad_mode is {pad_mode!r}; legal: {', '.join(MODES)}")
    parts = listed(pad_width, "pad_width")
    flat = [n for part in parts for n in (part if isinstance(part, (list, tuple)) else [part])]
    return pad.call(
        data, pad_width=int_tuple(flat), pad_mode=mode,
        pad_value=real(pad_value or 0.0, "pad_value"),
    )


@pad.infer
def _pad_info(
    ctx: Infer,
    data: TensorStructInfo,
    *,
    pad_width: tuple[int, ...],
    pad_mode: str,
    pad_value: float,
) -> TensorStructInfo:
    if data.ndim == -1:
        return like(data, None)
    if len(pad_width) != 2 * data.ndim:
        raise ctx.shape_error(
            "pad_width must have two numbers for each dimension",
            f"{len(pad_width)} numbers for {data.ndim} dimensions",
            f"{2 * data.ndim}",
        )
    if data.values is None:
        return like(data, None, data.ndim)
    sums = [a + b for a, b in zip(pad_width[::2], pad_width[1::2])]
    return like(data, [e + n for e, n in zip(data.values, sums)])


@pad.legalize
def _pad_te(
    bb: BlockBuilder,
    data: Expr,
    *,
    pad_width: tuple[int, ...],
    pad_mode: str,
    pad_value: float,
) -> Expr:
    before, after = list(pad_width[::2]), list(pad_width[1::2])

    def compute(x: Any) -> Any:
        if pad_mode == "constant":
            value = tir_const(pad_value, x.dtype)
            return topi.nn.pad(x, before, after, value)
        return getattr(topi.nn, f"{pad_mode}_pad")(x, before, after)

    name = "pad" if pad_mode == "constant" else f"{pad_mode}_pad"
    return bb.call_te(compute, data, primfunc_name_hint=name)


@pad.reference
def _pad_numpy(
    data: Array, *, pad_width: tuple[int, ...], pad_mode: str, pad_value: float
) -> Array:
    pairs = list(zip(pad_width[::2], pad_width[1::2]))
    if pad_mode == "constant":
        fill = np.asarray(pad_value).astype(data.dtype)
        padded = np.full([n + a + b for n, (a, b) in zip(data.shape, pairs)], fill)
        # what widths below zero leave: elements from -a on, up to n + b
        kept = [(max(0, -a), max(0, -a, min(n, n + b))) for n, (a, b) in zip(data.shape, pairs)]
        target = tuple(slice(low + a, high + a) for (low, high), (a, _) in zip(kept, pairs))
        padded[target] = data[tuple(slice(low, high) for low, high in kept)]
        return padded
    return np.pad(data, pairs, mode=MODES[pad_mode])  # type: ignore[call-overload]


@relax_op("relax.nn.pixel_shuffle", "data: Tensor", PixelShuffleAttrs, pattern=INJECTIVE)
def pixel_shuffle(data: ExprLike, upscale_factor: int) -> Call:
    """Channels moved into space.   (..., c * r * r, h, w) -> (..., c, h * r, w * r)"""
    return pixel_shuffle.call(data, upscale_factor=whole(upscale_factor, "upscale_factor"))


@pixel_shuffle.infer
def _pixel_shuffle_info(
    ctx: Infer, data: TensorStructInfo, *, upscale_factor: int
) -> TensorStructInfo:
    r = upscale_factor
    if r <= 0:
        raise ctx.error("upscale_factor must be positive", f"{r}", "1 or more")
    if data.ndim != -1 and data.ndim < 3:
        raise ctx.shape_error("data must have at least 3 dimensions", f"{data.ndim}", "3 or more")
    if data.values is None:
        return like(data, None, data.ndim)
    channels, height, width = data.values[-3:]
    known = const_int(channels)
    if known is not None and known % (r * r):
        raise ctx.shape_error(
            "the channels are no multiple of upscale_factor squared", f"{known}", f"k * {r * r}"
        )
    depth = simplify(tir_op.floordiv(channels, r * r), ctx.analyzer)
    return like(data, [*data.values[:-3], depth, height * r, width * r])


@pixel_shuffle.legalize
def _pixel_shuffle_te(bb: BlockBuilder, data: Expr, *, upscale_factor: int) -> Expr:
    return bb.call_te(topi.nn.pixel_shuffle, data, upscale_factor)


@pixel_shuffle.reference
def _pixel_shuffle_numpy(data: Array, *, upscale_factor: int) -> Array:
    r = upscale_factor
    *lead, channels, height, width = data.shape
    n = len(lead)
    split = data.reshape(*lead, channels // (r * r), r, r, height, width)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return split.transpose(order).reshape(*lead, channels // (r * r), height * r, width * r)


pad.follow_layout(layout_moves.padded)
