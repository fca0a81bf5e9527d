"""Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from . import tag
from .common import stages
from .utils import get_const_int


@explained
def stft(
    data: te.Tensor, n_fft: int, hop_length: int, win_length: int, window: te.Tensor,
    normalized: bool, onesided: bool, output_shape: Sequence[Any],
) -> te.Tensor:  # fmt: skip
    """Fourier transforms of windows `hop_length` apart.   (b, n) -> (b, freq, frames, 2)"""
    size = int(n_fft)
    tap = te.reduce_axis((0, int(win_length)), "k")
    scale = 1.0 / math.sqrt(size) if normalized else 1.0
    left = (size - int(win_length)) // 2
    step = -2.0 * math.pi / size
    _check_frames(data, size, int(hop_length), output_shape)

    def part(batch: PrimExpr, row: PrimExpr, frame: PrimExpr, wave: Any) -> PrimExpr:
        angle = tir.const(step, data.dtype) * (row * (tap + left)).astype(data.dtype)
        value = window(tap) * data(batch, frame * int(hop_length) + tap + left)
        total: PrimExpr = te.sum(value * wave(angle), axis=tap)
        return total

    shape = tuple(output_shape)[:-1]
    real = te.compute(shape, lambda b, r, f: part(b, r, f, tir.cos), name="stft_real")
    imaginary = te.compute(shape, lambda b, r, f: part(b, r, f, tir.sin), name="stft_imag")
    factor = tir.const(scale, data.dtype)

    def element(b: PrimExpr, r: PrimExpr, f: PrimExpr, c: PrimExpr) -> PrimExpr:
        return tir.Select(c.equal(0), real(b, r, f), imaginary(b, r, f)) * factor

    result = te.compute(tuple(output_shape), element, name="stft_cpu")
    assert isinstance(result, te.Tensor), "the body gives one expression"
    return result


def _check_frames(data: te.Tensor, size: int, hop: int, output_shape: Sequence[Any]) -> None:
    """Frames beyond the end of the data are refused, where numbers say so."""
    length, frames = data.shape[-1], output_shape[2] if len(output_shape) == 4 else None
    known = [int(x) for x in (length, frames) if isinstance(x, (int, tir.IntImm))]
    legal = f"(batch, frequencies, {(known[0] - size) // hop + 1 if known else 'frames'}, 2)"
    if frames is None or (len(known) == 2 and (known[1] - 1) * hop + size > known[0]):
        found = f"{[str(x) for x in output_shape]} for {length} samples"
        raise ShapeError(message("topi.stft: the shape of the output", found=found, legal=legal))


@explained
def dft(re_data: te.Tensor, im_data: te.Tensor, inverse: tir.IntImm) -> list[te.Tensor]:
    """The discrete Fourier transform along the last axis: real and imaginary part."""
    backward = bool(get_const_int(inverse))
    length = re_data.shape[-1]
    tap = te.reduce_axis((0, length), "k")
    sign = 1.0 if backward else -1.0
    kind = re_data.dtype
    pair = te.comm_reducer(
        lambda x, y: [x[0] + y[0], x[1] + y[1]],
        lambda a, b: [tir.const(0, a), tir.const(0, b)],
        name="complex_sum",
    )

    def element(*i: Any) -> Any:
        # the angle of k * n turns is that of (k * n) mod length of them: exact for long rows
        turns = tir.indexmod(i[-1] * tap, length).astype(kind)
        angle = tir.const(sign * 2.0 * math.pi, kind) * turns / length.astype(kind)
        re, im = re_data(*i[:-1], tap), im_data(*i[:-1], tap)
        cos, sin = tir.cos(angle), tir.sin(angle)
        return pair((re * cos - im * sin, re * sin + im * cos), axis=tap)

    sums = stages(re_data.shape, element, "dft_cpu", tag.COMM_REDUCE)
    if not backward:
        return list(sums)
    return [
        te.compute(t.shape, (lambda s: lambda *i: s(*i) / length.astype(kind))(t), name="dft_scale")
        for t in sums
    ]
