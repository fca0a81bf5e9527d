"""Channels as pixels of a larger picture."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute, known
from tvm.topi.utils import get_const_int


@explained
def pixel_shuffle(data: te.Tensor, upscale_factor: int, name: str = "PixelShuffle") -> te.Tensor:
    """(..., c * r * r, h, w) -> (..., c, h * r, w * r)"""
    r = int(upscale_factor)
    if data.ndim < 3 or r <= 0:
        raise ShapeError(
            f"pixel_shuffle: {data.ndim} dimensions, factor {r}; legal: at least 3, at least 1"
        )
    channels = data.shape[-3]
    if known(channels) and get_const_int(channels) % (r * r):
        raise ShapeError(f"pixel_shuffle: {channels} channels are no multiple of {r * r}")

    def element(*i: Any) -> PrimExpr:
        *lead, c, h, w = i
        own = c * r * r + tir.indexmod(h, r) * r + tir.indexmod(w, r)
        return data(*lead, own, tir.indexdiv(h, r), tir.indexdiv(w, r))

    *lead, _, height, width = data.shape
    shape = (*lead, tir.floordiv(channels, r * r), height * r, width * r)
    return compute(shape, element, name=name, tag=tag.INJECTIVE)
