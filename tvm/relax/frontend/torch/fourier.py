"""Fourier transforms: along axes, of windows that go along a signal, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tvm import te, tir
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant
from tvm.relax.frontend.fourier import Fourier, mirrored, sized

from .complex_numbers import Complex, complex_rule
from .pad import padded
from .registry import Converter, convert
from .shape import roll
from .values import (
    Expr,
    Size,
    axis_of,
    cast,
    dtype_of,
    floating,
    rank,
    refuse,
    scalar,
    size_tensor,
    sizes,
)

_NORMS = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}


def _both(*names: str) -> Callable[[Converter], Converter]:
    """Declare a converter that takes real and complex tensors."""

    def register(func: Converter) -> Converter:
        return complex_rule(*names)(convert(*names)(func))

    return register


def _split(bb: BlockBuilder, x: Any) -> tuple[Expr, Expr | None]:
    if isinstance(x, Complex):
        return x.re, x.im
    return bb.normalize_argument(floating(bb, x)), None


def _at_end(bb: BlockBuilder, x: Expr | None, axis: int, back: bool = False) -> Any:
    """The tensor with an axis moved to the end, or from there back to its place."""
    if x is None:
        return None
    order = list(range(rank(x)))
    if axis == order[-1]:
        return x
    if back:
        order.insert(axis, order.pop())
    else:
        order.append(order.pop(axis))
    return bb.emit(op.permute_dims(x, order))


def _scaled(bb: BlockBuilder, x: Expr, n: Size, power: float) -> Expr:
    """x / n^power"""
    if power == 0:
        return x
    if isinstance(n, int):
        return bb.emit(op.multiply(x, scalar(n**-power, dtype_of(x))))
    number = cast(bb, bb.emit(size_tensor(n)), dtype_of(x))
    return bb.emit(op.multiply(x, op.power(number, scalar(-power, dtype_of(x)))))


def _along(
    bb: BlockBuilder, x: Any, n: Size | None, dim: int, norm: str | None, inverse: bool,
    from_half: bool = False, half: bool = False,
) -> Any:  # fmt: skip
    """A transform along one axis, cut or filled to n elements first.

    `from_half`: of half a spectrum, to real numbers. `half`: of real numbers, to half a spectrum.
    """
    if norm not in _NORMS:
        raise refuse("fft: norm", repr(norm), "'backward', 'ortho', 'forward'")
    re, im = _split(bb, x)
    axis = axis_of(dim, rank(re))
    extent = sizes(re)[axis]
    n = n if n is not None else 2 * (extent - 1) if from_half else extent
    re, im = _at_end(bb, re, axis), _at_end(bb, im, axis)
    wanted = n // 2 + 1 if from_half else n
    re, im = sized(bb, re, wanted), im and sized(bb, im, wanted)
    if from_half:
        re, im = mirrored(bb, re, im, n)
    found = Fourier(bb, dtype_of(re), inverse=inverse).run(re, im, n)
    power = -_NORMS[norm] if inverse else _NORMS[norm]  # the inverse is divided by n already
    parts: list[Expr] = list(found[:1] if from_half else found)
    if half:
        last = rank(re) - 1
        parts = [bb.emit(op.strided_slice(p, [last], [0], [n // 2 + 1])) for p in parts]
    parts = [_at_end(bb, _scaled(bb, part, n, power), axis, back=True) for part in parts]
    return parts[0] if from_half else Complex(*parts)


# --- along one axis, and along several ---


@_both("fft_fft")
def fft(bb: BlockBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    return _along(bb, input, n, dim, norm, False)


@_both("fft_ifft")
def ifft(bb: BlockBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    return _along(bb, input, n, dim, norm, True)


@convert("fft_rfft")
def rfft(bb: BlockBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    return _along(bb, input, n, dim, norm, False, half=True)


@_both("fft_irfft")
def irfft(bb: BlockBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    return _along(bb, input, n, dim, norm, True, from_half=True)


# Of half a signal whose other half is its conjugate, turned round: the spectrum is real.
_OPPOSITE: Final = {
    None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"
}  # fmt: skip


def _conjugate(bb: BlockBuilder, x: Any) -> Any:
    return Complex(x.re, bb.emit(op.negative(x.im))) if isinstance(x, Complex) else x


@_both("fft_hfft")
def hfft(bb: BlockBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    return irfft(bb, _conjugate(bb, input), n, dim, _OPPOSITE.get(norm, norm))


@convert("fft_ihfft")
def ihfft(bb: BlockBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    return _conjugate(bb, rfft(bb, input, n, dim, _OPPOSITE.get(norm, norm)))


def _axes(x: Any, s: Any, dim: Any) -> list[tuple[int, Any]]:
    """Axes and the lengths along them: the last ones that `s` tells, or all."""
    ndim = rank(x.re if isinstance(x, Complex) else x)
    if dim is None:
        dim = range(0 if s is None else ndim - len(s), ndim)
    dims = [axis_of(one, ndim) for one in ([dim] if isinstance(dim, int) else dim)]
    lengths = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]
    return list(zip(dims, lengths))


def _several(inverse: bool, dim: Any) -> Converter:
    def apply(bb: BlockBuilder, input: Any, s: Any = None, dim: Any = dim, norm: Any = None) -> Any:
        for axis, n in _axes(input, s, dim):
            input = _along(bb, input, n, axis, norm, inverse)
        return input

    return apply


def _several_of_real(dim: Any) -> Converter:
    def apply(bb: BlockBuilder, input: Any, s: Any = None, dim: Any = dim, norm: Any = None) -> Any:
        *others, (axis, n) = _axes(input, s, dim)
        input = _along(bb, input, n, axis, norm, False, half=True)
        for axis, n in others:
            input = _along(bb, input, n, axis, norm, False)
        return input

    return apply


def _several_to_real(dim: Any) -> Converter:
    def apply(bb: BlockBuilder, input: Any, s: Any = None, dim: Any = dim, norm: Any = None) -> Any:
        *others, (axis, n) = _axes(input, s, dim)
        for other, length in others:
            input = _along(bb, input, length, other, norm, True)
        return _along(bb, input, n, axis, norm, True, from_half=True)

    return apply


def _several_of_half(dim: Any) -> Converter:
    def apply(bb: BlockBuilder, input: Any, s: Any = None, dim: Any = dim, norm: Any = None) -> Any:
        *others, (axis, n) = _axes(input, s, dim)
        for other, length in others:
            input = _along(bb, input, length, other, norm, False)
        return hfft(bb, input, n, axis, norm)

    return apply


def _several_to_half(dim: Any) -> Converter:
    def apply(bb: BlockBuilder, input: Any, s: Any = None, dim: Any = dim, norm: Any = None) -> Any:
        *others, (axis, n) = _axes(input, s, dim)
        input = ihfft(bb, input, n, axis, norm)
        for other, length in others:
            input = _along(bb, input, length, other, norm, True)
        return input

    return apply


for _suffix, _dim in (("2", (-2, -1)), ("n", None)):
    _both(f"fft_hfft{_suffix}")(_several_of_half(_dim))
    convert(f"fft_ihfft{_suffix}")(_several_to_half(_dim))
    _both(f"fft_fft{_suffix}")(_several(False, _dim))
    _both(f"fft_ifft{_suffix}")(_several(True, _dim))
    convert(f"fft_rfft{_suffix}")(_several_of_real(_dim))
    _both(f"fft_irfft{_suffix}")(_several_to_real(_dim))


@convert("_fft_r2c")
def fft_r2c(
    bb: BlockBuilder, input: Expr, dim: Sequence[int], normalization: int, onesided: bool
) -> Any:
    *others, last = dim
    norm = (None, "ortho", "forward")[normalization]
    found = _along(bb, input, None, last, norm, False, half=onesided)
    for axis in others:
        found = _along(bb, found, None, axis, norm, False)
    return found


@_both("_fft_c2c")
def fft_c2c(
    bb: BlockBuilder, input: Any, dim: Sequence[int], normalization: int, forward: bool
) -> Any:
    norm = ((None, "ortho", "forward") if forward else ("forward", "ortho", None))[normalization]
    for axis in dim:
        input = _along(bb, input, None, axis, norm, not forward)
    return input


@_both("_fft_c2r")
def fft_c2r(
    bb: BlockBuilder, input: Any, dim: Sequence[int], normalization: int, last_dim_size: Any
) -> Any:
    *others, last = dim
    norm = ("forward", "ortho", None)[normalization]
    for axis in others:
        input = _along(bb, input, None, axis, norm, True)
    return _along(bb, input, last_dim_size, last, norm, True, from_half=True)


def _shifted(by: Callable[[Any], Any]) -> Converter:
    def apply(bb: BlockBuilder, input: Expr, dim: Any = None) -> Any:
        axes = [axis for axis, _ in _axes(input, None, dim)]
        return roll(bb, input, [by(sizes(input)[axis]) for axis in axes], axes)

    return apply


convert("fft_fftshift")(_shifted(lambda n: n // 2))
convert("fft_ifftshift")(_shifted(lambda n: (n + 1) // 2))


# --- windows along a signal ---


def _window(bb: BlockBuilder, window: Expr | None, width: int, n_fft: int, dtype: str) -> Expr:
    """The window with zeros on both sides up to n_fft."""
    if window is None:
        made: Expr = Constant(np.ones(width, dtype))
    else:
        made = bb.normalize_argument(window)
    left = (n_fft - width) // 2
    return bb.normalize_argument(padded(bb, made, [left, n_fft - width - left]))


@_both("stft.center", "stft.functional", "stft.method")
def stft_center(
    bb: BlockBuilder, input: Any, n_fft: int, hop_length: Any = None, win_length: Any = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: Any = None, return_complex: Any = None, align_to_window: Any = None,
) -> Any:  # fmt: skip
    """(..., n) to (..., frequencies, frames)"""
    parts = []
    for part in _split(bb, input):
        if part is not None and center:
            part = bb.emit(op.expand_dims(part, [0] * (3 - rank(part))))
            half = n_fft // 2
            part = bb.normalize_argument(padded(bb, part, [half, half], pad_mode))
            drop = list(range(3 - rank(input.re if isinstance(input, Complex) else input)))
            part = bb.emit(op.squeeze(part, drop))
        parts.append(part)
    return _stft(bb, parts, n_fft, hop_length, win_length, window, normalized, onesided,
                 return_complex)  # fmt: skip


@_both("stft")
def stft(
    bb: BlockBuilder, input: Any, n_fft: int, hop_length: Any = None, win_length: Any = None,
    window: Any = None, normalized: bool = False, onesided: Any = None, return_complex: Any = None,
    align_to_window: Any = None,
) -> Any:  # fmt: skip
    return _stft(bb, _split(bb, input), n_fft, hop_length, win_length, window, normalized,
                 onesided, return_complex)  # fmt: skip


def _stft(
    bb: BlockBuilder, parts: Sequence[Any], n_fft: int, hop_length: Any, win_length: Any,
    window: Any, normalized: bool, onesided: Any, return_complex: Any,
) -> Any:  # fmt: skip
    if isinstance(window, Complex):
        raise refuse("stft: window", "complex numbers", "real ones")
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    weights = _window(bb, window, width, n_fft, dtype_of(parts[0]))

    def frames(x: te.Tensor) -> te.Tensor:
        *outer, n = x.shape
        shape = [*outer, (n - n_fft) // hop + 1, n_fft]
        made: te.Tensor = te.compute(shape, lambda *i: x(*i[:-2], i[-2] * hop + i[-1]), "frames")
        return made

    def windowed(part: Expr | None) -> Any:
        if part is None:
            return None
        framed = bb.emit_te(frames, part, primfunc_name_hint="frames")
        return bb.emit(op.multiply(framed, weights))

    re, im = (windowed(part) for part in parts)
    found = Fourier(bb, dtype_of(re), inverse=False).run(re, im, n_fft)
    last = rank(re) - 1
    kept = n_fft // 2 + 1 if onesided or (onesided is None and im is None) else n_fft
    made = []
    for part in found:
        cut = bb.emit(op.strided_slice(part, [last], [0], [kept]))
        scaled = _scaled(bb, cut, n_fft, 0.5 if normalized else 0.0)
        made.append(bb.emit(op.permute_dims(scaled, [*range(last - 1), last, last - 1])))
    return Complex(*made) if return_complex else op.stack(made, last + 1)


@_both("istft")
def istft(
    bb: BlockBuilder, input: Any, n_fft: int, hop_length: Any = None, win_length: Any = None,
    window: Any = None, center: bool = True, normalized: bool = False, onesided: Any = None,
    length: Any = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """(..., frequencies, frames) to (..., n): what overlaps is added, by the windows' squares."""
    if return_complex or isinstance(window, Complex):
        raise refuse("istft", "a complex window or result", "real ones")
    re, im = _split(bb, input)
    last = rank(re) - 1
    order = [*range(last - 1), last, last - 1]
    re = bb.emit(op.permute_dims(re, order))
    im = im and bb.emit(op.permute_dims(im, order))
    if sizes(re)[-1] != n_fft:
        re, im = mirrored(bb, re, im, n_fft)
    frames, _ = Fourier(bb, dtype_of(re), inverse=True).run(re, im, n_fft)
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    weights = _window(bb, window, width, n_fft, dtype_of(re))
    framed = bb.emit(op.multiply(_scaled(bb, frames, n_fft, -0.5 if normalized else 0.0), weights))
    skipped = n_fft // 2 if center else 0
    return bb.emit_te(
        _overlapped, framed, weights, hop, skipped, length, primfunc_name_hint="overlapped"
    )


def _overlapped(
    frames: te.Tensor, weights: te.Tensor, hop: int, skipped: int, length: Any
) -> te.Tensor:
    """Frames `hop` apart, added up where they overlap and divided by the squares of the window."""
    *outer, count, width = frames.shape
    n_fft = int(width)  # type: ignore[call-overload]
    whole = n_fft + hop * (count - 1)
    n = length if length is not None else whole - 2 * skipped
    ways = -(-n_fft // hop)
    zero = tir.const(0, frames.dtype)

    def covering(t: Any, k: Any, value: Callable[[Any, Any], Any]) -> Any:
        """What the k-th frame over a place gives there."""
        place = t + skipped
        frame, at = place // hop - k, place % hop + k * hop
        inside = tir.all(frame >= 0, frame < count, at < n_fft)
        return tir.if_then_else(inside, value(frame, at), zero)

    taps = [te.reduce_axis((0, ways), "k") for _ in range(2)]
    total = te.compute(
        (*outer, n),
        lambda *i: te.sum(
            covering(i[-1], taps[0], lambda f, at: frames(*i[:-1], f, at)), axis=taps[0]
        ),
        "total",
    )
    squares = te.compute(
        (n,),
        lambda t: te.sum(
            covering(t, taps[1], lambda f, at: weights(at) * weights(at)), axis=taps[1]
        ),
        "squares",
    )
    made: te.Tensor = te.compute(
        (*outer, n),
        lambda *i: tir.if_then_else(
            squares(i[-1]).equal(zero), zero, total(*i) / squares(i[-1])
        ),
        "signal",
    )
    return made


@convert("fft_fftfreq")
def fftfreq(bb: BlockBuilder, n: int, d: float = 1.0, dtype: Any = None, **named: Any) -> Expr:
    return Constant(np.fft.fftfreq(n, d).astype(dtype or "float32"))


@convert("fft_rfftfreq")
def rfftfreq(bb: BlockBuilder, n: int, d: float = 1.0, dtype: Any = None, **named: Any) -> Expr:
    return Constant(np.fft.rfftfreq(n, d).astype(dtype or "float32"))
