"""Padding. Torch gives widths from the last axis on: (last before, last after, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.topi.nn.pad import pad as pad_with_value

from .registry import convert
from .values import Expr, rank, refuse, sizes, spread

_MODES = {
    "constant": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular",
}  # fmt: skip


@convert("pad", "constant_pad_nd", "_pad_enum")
def pad(
    bb: BlockBuilder, input: Expr, pad: Sequence[int], mode: Any = "constant", value: Any = None
) -> Expr:
    """`constant_pad_nd` has the value third, `pad` the mode."""
    if not isinstance(mode, str):
        mode, value = "constant", mode
    if mode not in _MODES:
        raise refuse("pad: mode", repr(mode), ", ".join(_MODES))
    return padded(bb, input, pad, mode, 0.0 if value is None else float(value))


def padded(
    bb: BlockBuilder, x: Expr, pad: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Expr:
    """Widths below zero cut off."""
    ndim = rank(x)
    width = [0] * (2 * ndim)
    for i in range(len(pad) // 2):
        axis = ndim - 1 - i
        width[2 * axis : 2 * axis + 2] = pad[2 * i], pad[2 * i + 1]
    cut = [max(0, -w) if isinstance(w, int) else 0 for w in width]
    if mode == "constant" and all(isinstance(w, int) for w in width):
        return op.nn.pad(x, width, mode, value)
    if any(cut) and mode == "replicate" and all(isinstance(w, int) for w in width):
        return _nearest(bb, x, width)
    if any(cut):
        axes = [a for a in range(ndim) if cut[2 * a] or cut[2 * a + 1]]
        extents = sizes(x)
        ends = [extents[a] - cut[2 * a + 1] for a in axes]
        x = bb.emit(op.strided_slice(x, axes, [cut[2 * a] for a in axes], ends))
        width = [max(0, w) if isinstance(w, int) else w for w in width]
    wider = any(not isinstance(w, int) or w for w in width)
    if not all(isinstance(w, int) for w in width):
        return _padded_by_sizes(bb, x, width, mode, value)
    return op.nn.pad(x, width, mode, value) if wider or not any(cut) else x


def _nearest(bb: BlockBuilder, x: Expr, width: Sequence[int]) -> Expr:
    """The nearest element of the whole tensor: cutting may have left none to repeat."""

    def pad(data: te.Tensor) -> Any:
        shape = [n + low + high for n, low, high in zip(data.shape, width[::2], width[1::2])]

        def element(*at: Any) -> Any:
            return data(*(
                tir.max(tir.min(i - low, n - 1), 0) if low or high else i
                for i, n, low, high in zip(at, data.shape, width[::2], width[1::2])
            ))  # fmt: skip

        return te.compute(shape, element, name="pad")

    return bb.emit_te(pad, x, primfunc_name_hint="pad")


def _padded_by_sizes(
    bb: BlockBuilder, x: Expr, width: Sequence[Any], mode: str, value: float
) -> Expr:
    """Widths that are sizes, so not below zero: zeros, or any value, before and behind."""
    if mode != "constant":
        shown = ", ".join(map(str, width))
        raise refuse("pad", f"mode {mode!r} with the widths {shown}", "mode 'constant'")

    def pad(data: te.Tensor) -> Any:
        low, high = list(width[::2]), list(width[1::2])
        fill = tir.const(value, str(data.dtype))
        return pad_with_value(data, low, high, fill, "pad")

    return bb.emit_te(pad, x, primfunc_name_hint="pad")


def _declare(mode: str, name: str) -> None:
    def apply(bb: BlockBuilder, input: Expr, padding: Any) -> Expr:
        return padded(bb, input, spread(padding, 2 * (rank(input) - 2)), mode)

    convert(name)(apply)


for _n in (1, 2, 3):
    _declare("reflect", f"reflection_pad{_n}d")
    _declare("replicate", f"replication_pad{_n}d")


@convert("_pad_circular")
def pad_circular(bb: BlockBuilder, input: Expr, pad: Any) -> Expr:
    return padded(bb, input, pad, "circular")
