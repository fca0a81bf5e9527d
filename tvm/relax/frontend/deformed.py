"""Convolutions whose taps are moved by offsets, and scaled by a mask (Zhu et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm import te, tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo

from .regions import between


@dataclass(frozen=True)
class Windows:
    """The taps of a convolution over pictures: pairs of rows and columns."""

    kernel: Sequence[int]
    strides: Sequence[int]
    pads: Sequence[int]
    dilations: Sequence[int]


def deformed(
    bb: BlockBuilder, x: RelaxExpr, weight: RelaxExpr, offset: RelaxExpr, mask: RelaxExpr | None,
    windows: Windows, groups: int, moving: int,
) -> RelaxExpr:  # fmt: skip
    """Without bias; `moving` groups of channels have offsets of their own.

    (n, c, h, w), (o, c / groups, kh, kw), (n, moving * kh * kw * 2, oh, ow) -> (n, o, oh, ow)
    """
    batch = _extents(x)[0]
    filters, channels = int(_extents(weight)[0]), int(_extents(weight)[1]) * groups
    height, width = _extents(offset)[2:]
    (kh, kw), strides, pads, dilations = (
        windows.kernel, windows.strides, windows.pads, windows.dilations
    )  # fmt: skip
    taps, share = kh * kw, channels // moving

    def columns(x: te.Tensor, offset: te.Tensor, *mask: te.Tensor) -> Any:
        def element(n: Any, c: Any, t: Any, oh: Any, ow: Any) -> Any:
            kind = offset.dtype
            tap = tir.indexdiv(c, share) * taps + t
            row = oh * strides[0] - pads[0] + tir.indexdiv(t, kw) * dilations[0]
            column = ow * strides[1] - pads[1] + tir.indexmod(t, kw) * dilations[1]
            parts = between(
                x, n, c, row.astype(kind) + offset(n, 2 * tap, oh, ow),
                column.astype(kind) + offset(n, 2 * tap + 1, oh, ow), clamped=False,
            )  # fmt: skip
            value = parts[0] + parts[1] + parts[2] + parts[3]
            return value * mask[0](n, tap, oh, ow) if mask else value

        return te.compute((batch, channels, taps, height, width), element, name="taps")

    inputs = [x, offset, *([] if mask is None else [mask])]
    taken = bb.emit_te(columns, *inputs, primfunc_name_hint="deformed_taps")
    inner, out = channels // groups * taps, filters // groups
    rows = bb.emit(op.reshape(taken, [batch, groups, inner, height * width]))
    weights = bb.emit(op.reshape(weight, [groups, out, inner]))
    product = bb.emit(op.matmul(weights, rows))
    return bb.emit(op.reshape(product, [batch, filters, height, width]))


def _extents(x: RelaxExpr) -> Sequence[Any]:
    info = x.struct_info
    assert isinstance(info, TensorStructInfo)
    assert isinstance(info.shape, ShapeExpr), "extents are known to the importers"
    return info.shape.values
