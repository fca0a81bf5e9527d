"""Tables for `weighted_taps` along an axis whose extents are symbols: torch's interpolation.

Element i of `out` lies at a place of the input, in float32,

    (i + 1/2) * step - 1/2    step = 1 / factor, else size / out
    i * step                  nearest, and `align_corners`: step = (size - 1) / (out - 1)

and is the nearest element, or a sum of the neighbours by their distances.
"""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.relax.frontend.resampling import Resampling
from tvm.tir.expr import as_expr

_F32 = "float32"


def open_taps(
    size: Any, out: Any, factor: float | None, how: Resampling, dtype: str
) -> tuple[te.Tensor, te.Tensor]:
    """Which elements each one of `out` is made of, and their weights: (taps, out) both."""
    size, out = as_expr(size), as_expr(out)
    count = {"nearest": 1, "linear": 2, "cubic": 4}[how.mode]
    step = _step(size, out, factor, how.coordinates)

    def place(i: Any) -> Any:
        at = i.astype(_F32)
        if how.coordinates == "half_pixel":
            at = (at + _real(0.5)) * step
            if how.mode == "nearest":
                return at
            at = at - _real(0.5)
            return at if how.mode == "cubic" else tir.max(at, _real(0.0))
        return at * step

    lies = te.compute((out,), place, name="lies")
    before = (count - 1) // 2

    def index(k: Any, i: Any) -> Any:
        whole = tir.floor(lies[i]).astype("int64") + k.astype("int64") - before
        last = size.astype("int64") - 1
        return tir.max(tir.min(whole, last), tir.const(0, "int64"))

    def weight(k: Any, i: Any) -> Any:
        distance = lies[i] - tir.floor(lies[i])
        if count == 1:
            return tir.const(1, dtype)
        if count == 2:
            return tir.Select(k.equal(0), _real(1.0) - distance, distance).astype(dtype)
        return _cubic(tir.abs(distance - (k - before).astype(_F32)), how.cubic_a).astype(dtype)

    shape = (count, out)
    return te.compute(shape, index, name="indices"), te.compute(shape, weight, name="weights")


def open_filter(
    size: Any, out: Any, factor: float | None, how: Resampling, dtype: str
) -> te.Tensor:
    """The shares that elements have in each one of `out`, (size, out), of a widened filter.

    How many it reaches follows from the extents, so all have a share, which mostly is 0.
    """
    size, out = as_expr(size), as_expr(out)
    step = _step(size, out, factor, how.coordinates)
    stretch = _real(1.0) / tir.max(step, _real(1.0))
    kernel = _linear if how.mode == "linear" else lambda x: _cubic(x, how.cubic_a)

    def share(k: Any, i: Any) -> Any:
        at = (i.astype(_F32) + _real(0.5)) * step - _real(0.5)
        return kernel(tir.abs(k.astype(_F32) - at) * stretch)

    raw = te.compute((size, out), share, name="raw")
    k = te.reduce_axis((0, size), "k")
    total = te.compute((out,), lambda i: te.sum(raw[k, i], axis=k), name="total")
    shares: te.Tensor = te.compute(
        (size, out), lambda k, i: (raw[k, i] / total[i]).astype(dtype), name="shares"
    )
    return shares


def _linear(x: Any) -> Any:
    return tir.max(_real(1.0) - x, _real(0.0))


def _step(size: Any, out: Any, factor: float | None, how: str) -> Any:
    if how == "align_corners":
        steps = tir.max(out - 1, tir.const(1, out.dtype)).astype(_F32)
        return tir.Select(out > 1, (size - 1).astype(_F32) / steps, _real(0.0))
    if factor is not None:
        return _real(1.0 / factor)
    return size.astype(_F32) / out.astype(_F32)


def _cubic(x: Any, a: float) -> Any:
    """Keys' kernel (1981)."""
    near = ((_real(a + 2) * x - _real(a + 3)) * x) * x + _real(1.0)
    far = ((_real(a) * x - _real(5 * a)) * x + _real(8 * a)) * x - _real(4 * a)
    return tir.Select(x <= _real(1.0), near, tir.Select(x < _real(2.0), far, _real(0.0)))


def _real(value: float) -> Any:
    return tir.const(value, _F32)
