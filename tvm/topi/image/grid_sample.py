"""Pictures sampled at given coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute, stage
from tvm.topi.utils import get_const_int

from .resize import cubic_weights

METHODS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


@explained
def affine_grid(data: te.Tensor, target_shape: Sequence[Any]) -> te.Tensor:
    """Sampling coordinates from affine maps.   (n, 2, 3) -> (n, 2, h, w), x before y, in [-1, 1]"""
    height, width = target_shape
    dtype = data.dtype

    def coordinate(i: PrimExpr, extent: Any) -> PrimExpr:
        if isinstance(extent, int) and extent == 1:
            return tir.const(-1, dtype)
        span = 2.0 - 1e-7  # a little less than 2: the last one must not lie beyond 1
        if isinstance(extent, (int, tir.IntImm)):
            step: PrimExpr = tir.const(span / (int(extent) - 1), dtype)
        else:
            step = tir.const(span, dtype) / (extent - 1).astype(dtype)
        return tir.const(-1, dtype) + i.astype(dtype) * step

    def element(n: Any, dim: Any, i: Any, j: Any) -> PrimExpr:
        column, row = coordinate(j, width), coordinate(i, height)
        return data(n, dim, 0) * column + data(n, dim, 1) * row + data(n, dim, 2)

    return compute((data.shape[0], 2, height, width), element, tag="affine_grid")


class _Sampler:
    """Reads the picture around coordinates between its elements."""

    def __init__(
        self, data: te.Tensor, method: str, padding_mode: str, align_corners: bool
    ) -> None:
        self.data, self.method = data, method
        self.padding, self.align = padding_mode, align_corners
        self.sizes = data.shape[2:]
        self.dtype = data.dtype

    def unnormalized(self, value: PrimExpr, extent: Any) -> PrimExpr:
        """A coordinate in [-1, 1] as one in pixels, kept inside as the padding says."""
        size: PrimExpr = extent.astype("float32")
        if self.align:
            coord = (value + 1.0) * (size - 1.0) / 2.0
        else:
            coord = ((value + 1.0) * size - 1.0) / 2.0
        if self.method == "bicubic":
            return coord  # its taps are kept inside one by one
        return self.inside(coord, extent)

    def inside(self, coord: PrimExpr, extent: Any) -> PrimExpr:
        """A coordinate moved into the picture, for border and reflection."""
        last = (extent - 1).astype("float32")
        if self.padding == "zeros":
            return coord
        if self.padding == "reflection":
            coord = self._reflected(coord, extent)
        clipped: PrimExpr = te.max(te.min(coord, last), tir.const(0, "float32"))
        return clipped

    def _reflected(self, coord: PrimExpr, extent: Any) -> PrimExpr:
        """Thrown back at the edges: at the centres of the outer elements, or at their rims."""
        low = 0.0 if self.align else -0.5
        span = (extent - 1 if self.align else extent).astype("float32")
        span = te.max(span, tir.const(1e-6, "float32"))
        away = tir.abs(coord - tir.const(low, "float32"))
        turns = tir.floor(away / span)
        rest = away - turns * span
        odd = tir.floormod(turns.astype("int32"), 2).equal(1)
        return tir.Select(odd, span - rest, rest) + tir.const(low, "float32")

    def load(self, n: Any, c: Any, coords: Sequence[PrimExpr]) -> PrimExpr:
        """An element by whole coordinates; zero outside of the picture."""
        if self.padding != "zeros":
            limits = [
                te.max(te.min(p, extent - 1), tir.const(0, "int32"))
                for p, extent in zip(coords, self.sizes)
            ]
            return self.data(n, c, *limits)
        within = [tir.all(p >= 0, p < extent) for p, extent in zip(coords, self.sizes)]
        zero = tir.const(0, self.dtype)
        return tir.if_then_else(tir.all(*within), self.data(n, c, *coords), zero)

    def sample(self, n: Any, c: Any, coords: Sequence[PrimExpr]) -> PrimExpr:
        """The value between elements."""
        if self.method == "nearest":
            return self.nearest(n, c, coords)
        return self.linear(n, c, coords) if self.method == "bilinear" else self.cubic(n, c, coords)

    def nearest(self, n: Any, c: Any, coords: Sequence[PrimExpr]) -> PrimExpr:
        return self.load(n, c, [tir.nearbyint(p).astype("int32") for p in coords])

    def linear(self, n: Any, c: Any, coords: Sequence[PrimExpr]) -> PrimExpr:
        lows = [tir.floor(p) for p in coords]
        parts = [p - low for p, low in zip(coords, lows)]
        total: PrimExpr | None = None
        for corner in product((0, 1), repeat=len(coords)):
            weight: PrimExpr = tir.const(1, "float32")
            for step, part in zip(corner, parts):
                weight = weight * (part if step else 1.0 - part)
            at = [low.astype("int32") + step for low, step in zip(lows, corner)]
            term = self.load(n, c, at) * weight.astype(self.dtype)
            total = term if total is None else total + term
        assert total is not None, "there are corners"
        return total

    def cubic(self, n: Any, c: Any, coords: Sequence[PrimExpr]) -> PrimExpr:
        lows = [tir.floor(p) for p in coords]
        weights = [cubic_weights(p - low, -0.75) for p, low in zip(coords, lows)]
        total: PrimExpr = tir.const(0, self.dtype)
        for corner in product(range(4), repeat=len(coords)):
            weight: PrimExpr = tir.const(1, "float32")
            at = []
            for step, low, own, extent in zip(corner, lows, weights, self.sizes):
                weight = weight * own[step]
                at.append(self.inside(low + float(step - 1), extent).astype("int32"))
            total = total + self.load(n, c, at) * weight.astype(self.dtype)
        return total


@explained
def grid_sample(
    data: te.Tensor, grid: te.Tensor, method: str = "bilinear", layout: str = "NCHW",
    padding_mode: str = "zeros", align_corners: bool = True,
) -> te.Tensor:  # fmt: skip
    """The picture at coordinates in [-1, 1], which `grid` gives x first.

    (n, c, h, w), (n, 2, oh, ow) -> (n, c, oh, ow), or with three dimensions for NCDHW
    """
    dims = {"NCHW": 2, "NCDHW": 3}.get(layout)
    for what, value, legal in (
        ("method", method, METHODS if dims == 2 else METHODS[:2]),
        ("padding_mode", padding_mode, PADDINGS),
        ("layout", layout, ("NCHW", "NCDHW")),
    ):
        if value not in legal:
            raise ValueError(f"grid_sample: {what} {value!r}; legal: {', '.join(legal)}")
    assert dims is not None, "the layout was checked"
    if data.ndim != dims + 2 or grid.ndim != dims + 2 or get_const_int(grid.shape[1]) != dims:
        raise ShapeError(
            message(
                f"grid_sample in {layout}",
                found=f"{data.ndim} and {grid.ndim} dimensions",
                legal=f"{dims + 2} dimensions each, a grid with {dims} coordinates",
            )
        )
    sampler = _Sampler(data, method, padding_mode, align_corners)

    def element(*i: Any) -> PrimExpr:
        n, c, *at = i
        coords = [
            sampler.unnormalized(grid(n, dims - 1 - k, *at).astype("float32"), data.shape[2 + k])
            for k in range(dims)
        ]
        return sampler.sample(n, c, coords)

    shape = (*data.shape[:2], *grid.shape[2:])
    return stage(shape, element, "grid_sample", tag.INJECTIVE)
