"""Pictures: resized, sampled at grids and in regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.resampling import (
    COORDINATES,
    NEAREST,
    Axis,
    Resampling,
    nearest_indices,
    outside,
    taps,
)
from tvm.tir.expr import IntImm
from tvm.topi.image.grid_sample import grid_sample as sample
from tvm.topi.image.taps import weighted_taps

from .node import Node
from .registry import Converter, Result, convert
from .resize import (
    by_computed_scales,
    by_scales,
    in_order,
    resampled,
    rounded,
    takes_all,
    with_parts,
)
from .resize import by_sizes as by_sizes_of


def _of_integers(converter: Converter) -> Converter:
    """Between integers it is computed in floats.

    As runtimes have it, what lies behind the point is cut off; with antialiasing the nearest
    integer is taken, along each axis.
    """

    def apply(node: Node) -> Result:
        dtype = node.dtype(0)
        if node.attr("mode", "nearest") == "nearest" or "int" not in dtype:
            return converter(node)
        node.replace(0, node.bb.emit(op.astype(node[0], "float32")))
        if node.attr("antialias", 0):
            node.attrs["rounded_to"] = dtype
        found = converter(node)
        assert isinstance(found, RelaxExpr), "one output"
        return op.astype(node.bb.emit(found), dtype)

    return apply


@convert("Upsample")
@_of_integers
def upsample_attribute(node: Node) -> Result:
    scales = node.attr("scales")
    if scales is None:  # the first operator set knows pictures alone
        scales = [1.0, 1.0, node.required("height_scale"), node.required("width_scale")]
    return _scaled(node, [float(s) for s in scales], _upsampling(node))


@convert("Upsample", since=9)
@_of_integers
def upsample(node: Node) -> Result:
    return _scaled(node, _floats(node, 1, "scales"), _upsampling(node))


def _upsampling(node: Node) -> Resampling:
    mode = {"bilinear": "linear"}.get(node.attr("mode", "nearest"), node.attr("mode", "nearest"))
    return Resampling(mode, "asymmetric", "floor")


@convert("Resize")
@_of_integers
def resize_by_scales(node: Node) -> Result:
    """Operator set 10: as Upsample, and smaller as well."""
    how = Resampling(node.attr("mode", "nearest"), "asymmetric", "simple")
    return _scaled(node, _floats(node, 1, "scales"), how)


@convert("Resize", since=11)
@_of_integers
def resize(node: Node) -> Result:
    """By scales, or to sizes, along `axes` (all of them without)."""
    how = Resampling(
        node.attr("mode", "nearest"),
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        float(node.attr("cubic_coeff_a", -0.75)),
        bool(node.attr("exclude_outside", 0)),
        bool(node.attr("antialias", 0)),
    )
    if how.mode not in ("nearest", "linear", "cubic"):
        raise node.invalid("mode", how.mode, "nearest, linear, cubic")
    if how.coordinates not in COORDINATES:
        raise node.invalid(
            "coordinate_transformation_mode", how.coordinates, ", ".join(COORDINATES)
        )
    if how.nearest not in NEAREST:
        raise node.invalid("nearest_mode", how.nearest, ", ".join(NEAREST))
    rank = node.rank(0)
    axes = [int(a) % rank for a in node.attr("axes", range(rank))]
    extents = [node.shape(0)[a] for a in axes]
    asked = node.known(3)
    by_sizes = node.has(3) and (asked is None or asked.size > 0)
    sizes: list[Any] = [None] * len(axes)
    if by_sizes:
        sizes = list(node.numbers(3, "sizes", len(axes)))
    scales = [0.0] * len(axes) if by_sizes else _scales(node)
    if scales is None or not all(
        isinstance(x, (int, float, IntImm)) or x is None for x in [*extents, *sizes, *scales]
    ):
        return _open(node, axes, extents, sizes, scales, how)
    if how.coordinates == "tf_crop_and_resize":
        roi = _floats(node, 1, "roi")
        parts = list(zip(roi[: len(axes)], roi[len(axes) :]))
    else:
        parts = [(0.0, 1.0)] * len(axes)
    sizes, scales = _keep_ratio(node, extents, sizes, scales)
    resized: dict[int, Axis] = {}
    for axis, extent, size, scale, (start, end) in zip(axes, extents, sizes, scales, parts):
        whole = (start, end) == (0.0, 1.0)
        if whole and (scale == 1.0 if size is None else _same(size, extent)):
            continue
        length = int(extent)  # type: ignore[call-overload]
        out = int(np.floor(np.float32(length) * np.float32(scale))) if size is None else int(size)
        resized[axis] = Axis(length, out, scale or out / length, start, end)
    return _resampled(node, resized, how)


def _scales(node: Node) -> list[Any] | None:
    """Scales that are numbers or expressions; None where the model computes them."""
    value = node.known(2)
    if value is None and not isinstance(node.optional(2), Constant):
        return None
    if value is None or value.dtype != object:
        return _floats(node, 2, "scales")
    return [v if isinstance(v, PrimExpr) else float(v) for v in value.reshape(-1)]


def _open(
    node: Node, axes: list[int], extents: list[Any], sizes: list[Any], scales: list[Any] | None,
    how: Resampling,
) -> RelaxExpr:  # fmt: skip
    """Extents, sizes or scales that only running tells."""
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    crops = how.coordinates == "tf_crop_and_resize"
    cut = [crops and not takes_all(node, a, len(axes)) for a in range(len(axes))]
    if scales is None:
        kept = list(range(len(axes)))
        found = by_computed_scales(node, extents, node[2])
    elif sizes[0] is None:
        kept = [a for a, scale in enumerate(scales) if scale != 1.0 or cut[a]]
        if policy == "stretch" and _is_plain(node, axes, scales, how):
            return _symbolic(node, axes, sizes, scales, how)
        found = by_scales(node, [extents[a] for a in kept], [scales[a] for a in kept])
    else:
        kept = list(range(len(axes)))
        if policy == "stretch" and _fits_operator(node, axes, sizes, how):
            return _symbolic(node, axes, sizes, scales, how)
        found = by_sizes_of(node, extents, sizes, policy)
    if crops:
        found = with_parts(node, found, kept, len(axes))
    changed = {axes[a]: axis for a, axis in zip(kept, found)
               if cut[a] or not _same(axis.size, axis.out)}  # fmt: skip
    return resampled(node, node[0], changed, how)


def _is_plain(node: Node, axes: list[int], scales: list[Any], how: Resampling) -> bool:
    """Whether the operator for pictures does it: whole scales of the last two of four axes."""
    whole = all(isinstance(s, float) and s == int(s) for s in scales)
    return whole and _fits_operator(node, axes, [None] * len(axes), how) and all(
        scale == 1 for axis, scale in zip(axes, scales) if axis < 2
    )


def _fits_operator(node: Node, axes: list[int], sizes: list[Any], how: Resampling) -> bool:
    kept = all(
        size is None or _same(size, node.shape(0)[axis])
        for axis, size in zip(axes, sizes) if axis < 2
    )  # fmt: skip
    known = how.coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    plain = not how.exclude_outside and not how.antialias
    return node.rank(0) == 4 and kept and known and plain


def _same(a: Any, b: Any) -> bool:
    numbers = [x.value if isinstance(x, IntImm) else x for x in (a, b)]
    return numbers[0] is numbers[1] or (
        not any(isinstance(x, PrimExpr) for x in numbers) and numbers[0] == numbers[1]
    )


def _keep_ratio(
    node: Node, extents: list[Any], sizes: list[Any], scales: list[float]
) -> tuple[list[Any], list[float]]:
    """Sizes that keep the ratio of the extents, if that is asked for."""
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch" or sizes[0] is None:
        return sizes, scales
    if policy not in ("not_larger", "not_smaller"):
        raise node.invalid(
            "keep_aspect_ratio_policy", policy, "stretch, not_larger, not_smaller"
        )
    if any(isinstance(e, PrimExpr) and not isinstance(e, IntImm) for e in [*extents, *sizes]):
        raise node.invalid("keep_aspect_ratio_policy", policy, "stretch, with symbolic extents")
    lengths = [int(extent) for extent in extents]
    ratios = [int(size) / length for size, length in zip(sizes, lengths)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [int(np.floor(scale * length + 0.5)) for length in lengths], [scale] * len(lengths)


def _floats(node: Node, i: int, what: str) -> list[float]:
    value = node.known(i)
    found = node.optional(i)
    if value is None and isinstance(found, Constant):
        value = found.data.numpy()
    if value is None:
        raise node.invalid(what, "computed by the model", "a constant")
    return [float(v) for v in value.reshape(-1)]


def _scaled(node: Node, scales: list[float], how: Resampling) -> Result:
    resized: dict[int, Axis] = {}
    extents = node.shape(0)
    for axis, scale in enumerate(scales):
        extent = extents[axis]
        if scale == 1:
            continue
        if not isinstance(extent, IntImm):
            sizes: list[Any] = [None] * len(scales)
            return _open(node, list(range(len(scales))), list(extents), sizes, list(scales), how)
        out = int(np.floor(np.float32(extent.value) * np.float32(scale)))
        resized[axis] = Axis(extent.value, out, scale)
    return _resampled(node, resized, how)


def _resampled(node: Node, axes: dict[int, Axis], how: Resampling) -> RelaxExpr:
    """One axis after the other: a gather, or a sum of a few elements each."""
    value = node[0]
    crops = how.coordinates == "tf_crop_and_resize"
    for dim, axis in in_order(node, axes):
        if how.mode == "nearest":
            value = node.bb.emit(op.take(value, Constant(nearest_indices(axis, how)), dim))
        else:
            indices, weights = taps(axis, how)
            shares = Constant(weights.astype(node.dtype(0)))
            value = node.bb.emit_te(
                weighted_taps, value, Constant(indices), shares, dim, primfunc_name_hint="resize"
            )
            value = rounded(node, value)
    if crops and any(outside(axis, how).any() for axis in axes.values()):
        fill = Constant(np.asarray(node.attr("extrapolation_value", 0.0), node.dtype(0)))
        rank = node.rank(0)
        for dim, axis in axes.items():
            shape = [1] * rank
            shape[dim] = axis.out
            value = op.where(Constant(outside(axis, how).reshape(shape)), fill, value)
    return value


def _symbolic(
    node: Node, axes: list[int], sizes: list[Any], scales: list[float], how: Resampling
) -> RelaxExpr:
    """Extents that are symbols: the operator, which finds scales from sizes as it runs."""
    wanted: list[Any] = list(node.shape(0))
    for axis, size, scale in zip(axes, sizes, scales):
        if size is not None:
            wanted[axis] = size
        else:
            wanted[axis] = wanted[axis] * int(scale)
    method = {"nearest": "nearest_neighbor"}.get(how.mode, how.mode)
    return op.image.resize2d(
        node[0], tuple(wanted[2:]), layout="NCHW", method=method,
        coordinate_transformation_mode=how.coordinates,
        rounding_method=how.nearest.replace("simple", "floor") if how.mode == "nearest" else "",
        cubic_alpha=how.cubic_a,
    )  # fmt: skip


@convert("GridSample")
def grid_sample(node: Node) -> Result:
    """Elements of a picture (volume) at coordinates of -1 ... 1."""
    mode = node.attr("mode", "bilinear" if node.opset < 20 else "linear")
    method = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    padding = {"zeros": "zeros", "border": "border", "reflection": "reflection"}
    around = node.attr("padding_mode", "zeros")
    if around not in padding or method not in ("bilinear", "nearest", "bicubic"):
        raise node.invalid("mode, padding_mode", (mode, around), "bilinear, nearest, bicubic")
    spatial = node.rank(0) - 2
    axes = [0, spatial + 1, *range(1, spatial + 1)]
    grid = node.bb.emit(op.permute_dims(node[1], axes))
    return node.bb.emit_te(
        sample, node[0], grid, method, "NCHW" if spatial == 2 else "NCDHW",
        padding[around], bool(node.attr("align_corners", 0)),
    )  # fmt: skip


@convert("AffineGrid")
def affine_grid(node: Node) -> Result:
    """Coordinates of turned and scaled pictures (volumes).

    theta (n, 2, 3), size (n, c, h, w) -> (n, h, w, 2); theta (n, 3, 4), size (n, c, d, h, w) ->
    (n, d, h, w, 3).
    """
    size = node.numbers(1, "size")
    if len(size) not in (4, 5):
        raise node.invalid("size", size, "four or five numbers: n, c, h, w or n, c, d, h, w")
    if not node.dtype(0).startswith(("float", "bfloat")):
        raise node.unfit(0, "numbers of floating point", node.dtype(0))
    corners = bool(node.attr("align_corners", 0))
    if not all(isinstance(n, int) for n in size):
        return node.bb.emit_te(_turned, node[0], size, corners, primfunc_name_hint="affine_grid")

    def coordinates(count: int) -> Any:
        if corners:
            return np.linspace(-1, 1, count)
        return (2 * np.arange(count) + 1) / count - 1

    extents = [int(n) for n in size[2:]]  # type: ignore[arg-type]
    grid = np.meshgrid(*[coordinates(n) for n in extents], indexing="ij")
    # the innermost axis comes first, and behind all a one that the shift is multiplied by
    columns = [*reversed(grid), np.ones_like(grid[0])]
    base = np.stack(columns, -1).reshape(-1, len(columns)).astype(node.dtype(0))
    turned = op.matmul(Constant(base), op.permute_dims(node[0], [0, 2, 1]))
    return op.reshape(turned, [size[0], *size[2:], len(grid)])


def _turned(theta: te.Tensor, size: Any, corners: bool) -> te.Tensor:
    """The grid of a picture whose extents only running tells."""
    kind = theta.dtype

    def coordinate(i: Any, count: Any) -> Any:
        extent, one = tir.Cast(kind, count), tir.const(1, kind)
        twice = i.astype(kind) * tir.const(2, kind)
        if corners:
            return twice / tir.max(extent - one, one) - one
        return (twice + one) / extent - one

    def element(n: Any, *at: Any) -> Any:
        *outer, c = at
        value = theta(n, c, len(outer))
        for k, (i, count) in enumerate(zip(reversed(outer), reversed(size[2:]))):
            value = value + theta(n, c, k) * coordinate(i, count)
        return value

    shape = (theta.shape[0], *size[2:], len(size) - 2)
    grid: te.Tensor = te.compute(shape, element, name="grid")
    return grid
