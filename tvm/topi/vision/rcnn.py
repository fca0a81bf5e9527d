"""Values of regions of images: pooled windows, and samples between the grid points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.loops import grid, load, parallel, sequence, store

from .proposal import proposal as proposal  # known here too


def _pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if not isinstance(size, Sequence) else (size[0], size[1])


@explained
def roi_pool_nchw(data: te.Tensor, rois: te.Tensor, pooled_size: Any, spatial_scale: Any) -> Any:
    """The greatest of each cell of each region.   (b, c, h, w), (r, 5) -> (r, c, ph, pw)

    A region is (image, x, y, x, y), with both corners inside; an empty cell is 0.
    """
    _, channels, height, width = data.shape
    rows, columns = _pair(pooled_size)
    dtype = str(data.dtype)
    y, x = te.reduce_axis((0, height), "y"), te.reduce_axis((0, width), "x")

    def edge(r: PrimExpr, k: int) -> PrimExpr:
        return tir.round(rois[r, k] * spatial_scale).astype("int32")

    def cell(r: PrimExpr, k: int, at: PrimExpr, cells: int, extent: Any) -> tuple[Any, Any]:
        low, high = edge(r, k), edge(r, k + 2)
        size = te.max(high - low + 1, tir.const(1, "int32")).astype(dtype)
        step = size / tir.const(cells, dtype)
        start = tir.floor(at.astype(dtype) * step).astype("int32") + low
        stop = tir.ceil((at + 1).astype(dtype) * step).astype("int32") + low
        zero = tir.const(0, "int32")
        return te.min(te.max(start, zero), extent), te.min(te.max(stop, zero), extent)

    def element(r: PrimExpr, c: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        top, bottom = cell(r, 2, i, rows, height)
        left, right = cell(r, 1, j, columns, width)
        empty = tir.any(bottom <= top, right <= left)
        inside = tir.all(y >= top, y < bottom, x >= left, x < right)
        image = rois[r, 0].astype("int32")
        lowest = tir.Select(empty, tir.const(0, dtype), te.min_value(dtype))
        value: PrimExpr = te.max(tir.if_then_else(inside, data[image, c, y, x], lowest),
                                 axis=[y, x])  # fmt: skip
        return value

    return te.compute((rois.shape[0], channels, rows, columns), element, name="pool_max")


@explained
def roi_align(
    data: te.Tensor, rois: te.Tensor, pooled_size: Any, spatial_scale: Any,
    sample_ratio: int = -1, layout: str = "NCHW", mode: str | bytes = "avg",
) -> te.Tensor:  # fmt: skip
    """The mean (or the greatest) of samples of each cell of each region.

    (b, c, h, w), (r, 5) -> (r, c, ph, pw); with `sample_ratio` -1, about one sample a grid point.
    """
    nchw = layout == "NCHW"
    if nchw:
        _, channels, height, width = data.shape
    else:
        _, height, width, channels = data.shape
    rows, columns = _pair(pooled_size)
    dtype = str(data.dtype)
    average = mode in ("avg", b"avg")

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (source, regions), (out,) = ins, outs

        def real(value: Any) -> PrimExpr:
            return value.astype(dtype) if isinstance(value, PrimExpr) else tir.const(value, dtype)

        def span(r: PrimExpr, k: int) -> tuple[PrimExpr, PrimExpr]:
            low, high = (load(regions, r, at) * spatial_scale for at in (k, k + 2))
            return low, te.max(high - low, real(1.0))

        def samples(size: PrimExpr, cells: int) -> PrimExpr:
            if sample_ratio > 0:
                return tir.const(sample_ratio, "int32")
            return tir.ceil(size / real(cells)).astype("int32")

        def pixel(image: PrimExpr, c: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
            return load(source, image, c, y, x) if nchw else load(source, image, y, x, c)

        def between(image: PrimExpr, c: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
            out = tir.any(y < -1.0, y > real(height), x < -1.0, x > real(width))
            neighbours = []
            for value, extent in ((y, height), (x, width)):
                value = te.min(te.max(value, real(0.0)), real(extent - 1))
                low = tir.floor(value).astype("int32")
                high = te.min(low + 1, tir.Cast("int32", extent - 1))
                neighbours.append((low, high, value - low.astype(dtype)))
            (y0, y1, fy), (x0, x1, fx) = neighbours
            value = (
                (1 - fy) * ((1 - fx) * pixel(image, c, y0, x0) + fx * pixel(image, c, y0, x1))
                + fy * ((1 - fx) * pixel(image, c, y1, x0) + fx * pixel(image, c, y1, x1))
            )
            return tir.if_then_else(out, real(0.0), value)

        def element(r: PrimExpr, *at: PrimExpr) -> tir.Stmt:
            c, i, j = at if nchw else (at[2], at[0], at[1])
            (top, tall), (left, wide) = span(r, 2), span(r, 1)
            down, across = samples(tall, rows), samples(wide, columns)

            def add(v: PrimExpr, u: PrimExpr) -> tir.Stmt:
                y = top + (real(i) + (real(v) + 0.5) / real(down)) * (tall / real(rows))
                x = left + (real(j) + (real(u) + 0.5) / real(across)) * (wide / real(columns))
                sample = between(load(regions, r, 0).astype("int32"), c, y, x)
                old = load(out, r, *at)
                new = old + sample / real(down * across) if average else te.max(old, sample)
                return store(out, new, r, *at)

            first = real(0.0) if average else te.min_value(dtype)
            return sequence(store(out, first, r, *at), grid((down, across), add, "s"))

        def region(r: PrimExpr) -> tir.Stmt:
            return grid(shape, lambda *at: element(r, *at), "o")

        return parallel(rois.shape[0], region, "r")

    shape = (channels, rows, columns) if nchw else (rows, columns, channels)
    inputs = [data, rois]
    made: te.Tensor = te.extern(
        [(rois.shape[0], *shape)], inputs, body, dtype=[dtype],
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer((rois.shape[0], *shape), dtype, "aligned")],
        name="roi_align", tag="roi_align",
    )  # fmt: skip
    return made


def roi_align_nchw(
    data: te.Tensor, rois: te.Tensor, pooled_size: Any, spatial_scale: Any, mode: str | bytes,
    sample_ratio: int = -1,
) -> te.Tensor:  # fmt: skip
    """`roi_align` of data (b, c, h, w)."""
    return roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, "NCHW", mode)


def roi_align_nhwc(
    data: te.Tensor, rois: te.Tensor, pooled_size: Any, spatial_scale: Any, mode: str | bytes,
    sample_ratio: int = -1,
) -> te.Tensor:  # fmt: skip
    """`roi_align` of data (b, h, w, c)."""
    return roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, "NHWC", mode)
