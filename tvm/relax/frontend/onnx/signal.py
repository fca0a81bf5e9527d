"""Signals: Fourier transforms, their sliding form, mel filters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, ShapeExpr
from tvm.relax.frontend.fourier import Fourier, mirrored, sized
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo
from tvm.tir.expr import IntImm

from .attributes import dtype_name
from .node import Node
from .registry import Result, convert


def _extents(value: RelaxExpr) -> list[Any]:
    info = value.struct_info
    assert isinstance(info, TensorStructInfo), "signals are tensors"
    return list(info.shape.values)  # type: ignore[union-attr]


@convert("DFT", since=17)
def dft_axis_attribute(node: Node) -> Result:
    """The axis as an attribute."""
    return _dft(node, int(node.attr("axis", 1)))


@convert("DFT", since=20)
def dft(node: Node) -> Result:
    """The axis as an input; the last but one without it."""
    return _dft(node, node.integers(2, "axis")[0] if node.has(2) else -2)


def _dft(node: Node, axis: int) -> RelaxExpr:
    """(..., n, ..., 1 or 2) -> (..., k, ..., 2): the last axis is the real and imaginary part."""
    rank, inverse = node.rank(0), bool(node.attr("inverse", 0))
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank - 1:
        raise node.invalid("axis", axis, f"0 ... {rank - 2}")
    one_sided = bool(node.attr("onesided", 0))
    extent = node.shape(0)[axis]
    width = node.shape(0)[-1]
    if not isinstance(width, IntImm):
        raise node.invalid("the last extent", str(width), "1 or 2")
    back = one_sided and inverse  # the other half is the conjugate of this one
    parts = [op.squeeze(_part(node, node[0], i, rank - 1), [rank - 1]) for i in range(width.value)]
    moved = [_moved(node, part, axis, rank - 2) for part in parts]
    default = 2 * (extent - 1) if back else extent
    n = _plain(node.sizes(1, "dft_length")[0] if node.has(1) else default)
    re, *others = [sized(node.bb, part, n // 2 + 1 if back else n) for part in moved]
    im = others[0] if others else None
    if back:
        re, im = mirrored(node.bb, re, im, n)
    found = Fourier(node.bb, node.dtype(0), inverse=inverse).run(re, im, n)
    kept = [found[0]] if back else list(found)
    if one_sided and not inverse:
        kept = [_part(node, part, 0, rank - 2, n // 2 + 1) for part in kept]
    placed = [_moved(node, part, rank - 2, axis) for part in kept]
    return op.stack(placed, rank - 1)


def _plain(extent: PrimExpr | int) -> Any:
    return extent.value if isinstance(extent, IntImm) else extent


def _part(node: Node, value: RelaxExpr, start: int, axis: int, count: Any = 1) -> RelaxExpr:
    return node.bb.emit(op.strided_slice(value, [axis], [start], [start + count]))


def _moved(node: Node, value: RelaxExpr, source: int, target: int) -> RelaxExpr:
    if source == target:
        return node.bb.emit(value)
    order = list(range(len(_extents(node.bb.normalize(value)))))
    order.insert(target, order.pop(source))
    return node.bb.emit(op.permute_dims(value, order))


@convert("STFT", since=17)
def stft(node: Node) -> Result:
    """(batch, n, 1 or 2) -> (batch, frames, k, 2): transforms of windows that go along."""
    step = _plain(node.numbers(1, "frame_step", 1)[0])
    if node.has(3):
        length = _plain(node.numbers(3, "frame_length", 1)[0])
    elif node.has(2):
        length = _plain(node.shape(2)[0])
    else:
        raise node.invalid("window, frame_length", "neither", "one of them")
    batch, extent, *parted = node.shape(0)
    width = parted[0] if parted else IntImm("int64", 1)
    if not isinstance(width, IntImm):
        raise node.invalid("the extents", f"{extent}, {width}", "real or complex numbers")
    _positive(node, "frame_step", step)
    if not isinstance(length, tir.SizeVar):
        _positive(node, "frame_length", length)
    if isinstance(extent, IntImm) and isinstance(length, int) and length > extent.value:
        raise node.invalid("frame_length", length, f"1 ... {extent}")

    def frames(x: te.Tensor) -> te.Tensor:
        shape = [batch, (extent - length) // step + 1, length]
        made: te.Tensor = te.compute(shape, lambda b, frame, i: x(b, frame * step + i), "frames")
        return made

    signal = node.bb.emit(op.reshape(node[0], [batch, extent, width]))
    window = node.optional(2)
    if window is not None and node.has(3):
        fits = Analyzer().can_prove_equal(node.shape(2)[0], length)
        if not fits and not (isinstance(length, int) and isinstance(node.shape(2)[0], IntImm)):
            window = node.bb.match_cast(window, TensorStructInfo([length], node.dtype(2)))
    parts = []
    for i in range(width.value):
        part = node.bb.emit(op.squeeze(_part(node, signal, i, 2), [2]))
        framed: RelaxExpr = node.bb.emit_te(frames, part, primfunc_name_hint="frames")
        if window is not None:
            framed = op.multiply(framed, window)
        parts.append(node.bb.emit(framed))
    fourier = Fourier(node.bb, node.dtype(0), inverse=False)
    found = list(fourier.run(parts[0], parts[1] if len(parts) > 1 else None, length))
    if node.attr("onesided", 1):
        found = [_part(node, part, 0, 2, length // 2 + 1) for part in found]
    return op.stack(found, 3)


def _positive(node: Node, what: str, number: PrimExpr | int) -> None:
    """Refuse a number below 1: now where it is known, else as the program runs."""
    if isinstance(number, PrimExpr):
        node.bb.match_cast(ShapeExpr([tir.max(number, 1)]), ShapeStructInfo([number]))
    elif number < 1:
        raise node.invalid(what, number, "1 or more")


@convert("MelWeightMatrix", since=17)
def mel_weight_matrix(node: Node) -> Result:
    """Triangles, evenly spaced on the mel scale (Stevens, Volkmann and Newman 1937)."""
    bins, length, rate = (
        node.integers(i, what)[0]
        for i, what in enumerate(("num_mel_bins", "dft_length", "sample_rate"))
    )
    low, high = (_known_number(node, i) for i in (3, 4))
    spectrum = length // 2 + 1
    mels = np.linspace(_mel(low), _mel(high), bins + 2)
    if not rate or bins < 0:
        raise node.invalid("num_mel_bins, sample_rate", (bins, rate), "positive numbers")
    hertz = 700 * (10 ** (_steps(mels) / 2595) - 1)
    edges = np.floor((length + 1) * hertz / rate).astype(int)
    weights = np.zeros((spectrum, bins))
    for i in range(bins):
        below, centre, above = edges[i : i + 3]
        rising = centre - below
        if rising == 0:
            weights[centre, i] = 1
        else:
            span = np.arange(below, centre + 1)
            weights[span, i] = (span - below) / rising
        falling = above - centre
        if falling > 0:
            span = np.arange(centre, above)
            weights[span, i] = (above - span) / falling
    dtype = dtype_name(int(node.attr("output_datatype", 1)))
    return Constant(weights.astype(dtype))


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _steps(mels: Any) -> Any:
    """Evenly spaced from the lowest on; the last point is no edge of its own."""
    count = len(mels)
    return np.arange(count) * ((mels[-1] - mels[0]) / count) + mels[0]


def _known_number(node: Node, i: int) -> float:
    value = node.known(i)
    if value is None:
        raise node.invalid(f"input {i}", "computed by the model", "a constant")
    return float(value.reshape(-1)[0])
