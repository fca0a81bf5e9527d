"""Fourier transforms."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import Type
from tvm.relay.expr import Call, TupleWrapper
from tvm.relay.ty import TensorType

from .declare import OPAQUE, Expr, Relate, relay_op, topi
from .relations import extents, is_any, tensor
from .tensor import ones


@relay_op("dft", "DFTAttrs", operands=("re_data", "im_data"), pattern=OPAQUE,
          lower=lambda bb, re, im, *, inverse: bb.call_te(topi.dft, re, im, inverse),
          level=3)  # fmt: skip
def dft(re_data: Expr, im_data: Expr, inverse: bool | None = False) -> Any:
    """The discrete Fourier transform of real and imaginary parts along the last axis."""
    return TupleWrapper(dft.call(re_data, im_data, inverse=bool(inverse)), 2)


def _frames(bb: Any, x: Any, window: Any, **o: Any) -> Any:
    """The window as numbers of the data's type; then the sums."""
    batch, length = x.struct_info.shape
    bins = _bins(o["n_fft"], o["onesided"])
    shape = [batch, bins, (length - o["n_fft"]) // o["hop_length"] + 1, 2]

    def transform(data: Any, taps: Any) -> Any:
        return topi.stft(
            data, o["n_fft"], o["hop_length"], o["win_length"], topi.cast(taps, data.dtype),
            o["normalized"], o["onesided"], shape,
        )  # fmt: skip

    return bb.call_te(transform, x, window, primfunc_name_hint="stft")


def _bins(n_fft: int, onesided: bool) -> int:
    return n_fft // 2 + 1 if onesided else n_fft


def _stft_type(ctx: Relate) -> Type | None:
    x, window, o = tensor(ctx, 0), tensor(ctx, 1), ctx.attrs
    if x is None or window is None:
        return None
    if len(x.shape) != 2 or len(window.shape) != 1:
        raise ctx.fail("the operands have other ranks", "data (batch, length), window (taps,)")
    batch, length = extents(x)
    taps = extents(window)[0]
    if not 0 < o.win_length <= o.n_fft or o.hop_length <= 0:
        raise ctx.fail(
            f"n_fft {o.n_fft}, win_length {o.win_length}, hop_length {o.hop_length}",
            "0 < win_length <= n_fft and 0 < hop_length",
        )
    if isinstance(taps, int) and taps < o.win_length:
        raise ctx.fail(f"a window of {taps} for win_length {o.win_length}", "a tap for each sample")
    if isinstance(length, int) and length < o.n_fft:
        raise ctx.fail(f"signals of {length} for n_fft {o.n_fft}", "n_fft or longer")
    frames = length if is_any(length) else (length - o.n_fft) // o.hop_length + 1
    return TensorType((batch, _bins(o.n_fft, o.onesided), frames, 2), x.dtype)


@relay_op("stft", "StftAttrs", operands=("data", "window"), pattern=OPAQUE, level=3,
          hidden=("data", "window"), relation=_stft_type, lower=_frames,
          optional={"n_fft": -1, "hop_length": -1, "win_length": -1})  # fmt: skip
def stft(
    data: Expr, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Expr | None = None, normalized: bool = False, onesided: bool = True,
) -> Call:  # fmt: skip
    """Fourier transforms of windows that lie `hop_length` apart; by default a quarter of `n_fft`.

    data (batch, length) -> (batch, bins, frames, 2): real and imaginary part. `bins` is `n_fft`,
    or n_fft // 2 + 1 if `onesided`. The window is 1 by default; shorter ones stand in the middle.
    `normalized` divides by the root of `n_fft`.
    """
    return stft.call(
        data, ones((n_fft,), "int32") if window is None else window, n_fft=int(n_fft),
        hop_length=int(n_fft // 4 if hop_length is None else hop_length),
        win_length=int(n_fft if win_length is None else win_length),
        normalized=bool(normalized), onesided=bool(onesided),
    )  # fmt: skip


__all__ = ["dft", "stft"]
