"""Pictures resized, and sampled at places."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, TupleGetItem
from tvm.relax.extents import named
from tvm.relax.frontend.resampling import Axis, Resampling, nearest_indices, taps
from tvm.relax.struct_info import ShapeExpr
from tvm.topi.image.grid_sample import affine_grid as sampling_grid
from tvm.topi.image.grid_sample import grid_sample as sample
from tvm.topi.image.taps import weighted_taps

from .open_taps import open_filter, open_taps
from .pool import adaptive_avg_pool
from .registry import convert
from .values import Expr, dtype_of, rank, refuse, sizes, spread

_LINEAR = ("linear", "bilinear", "trilinear")


@convert("interpolate", "upsample")
def interpolate(
    bb: BlockBuilder,
    input: Expr,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Expr:
    """(n, c, extents) to other extents: a size, or the extents times a factor."""
    n = rank(input) - 2
    if size is not None:
        return _resized(bb, input, spread(size, n), None, mode, bool(align_corners), antialias)
    factors = [float(f) for f in spread(scale_factor, n)]
    wanted = [_scaled(bb, extent, f) for extent, f in zip(sizes(input)[2:], factors)]
    kept = None if recompute_scale_factor else factors
    return _resized(bb, input, wanted, kept, mode, bool(align_corners), antialias)


def _scaled(bb: BlockBuilder, extent: Any, factor: float) -> Any:
    if not isinstance(extent, PrimExpr):
        return math.floor(extent * factor)
    if factor != int(factor):
        real = tir.Cast("float64", extent) * tir.const(factor, "float64")
        return named(bb, tir.floor(real).astype("int64"))
    return extent * int(factor)


def _resized(
    bb: BlockBuilder, x: Expr, wanted: Sequence[Any], factors: Sequence[float] | None, mode: str,
    align_corners: bool, antialias: bool = False,
) -> Expr:  # fmt: skip
    """Relax resizes pictures of two dimensions; the rest is done axis by axis."""
    if mode == "area":
        return adaptive_avg_pool(bb, x, len(wanted), list(wanted))
    extents = sizes(x)[2:]
    symbolic = any(isinstance(e, PrimExpr) for e in [*extents, *wanted])
    exact = factors is None or symbolic or align_corners or all(
        e * f == w for e, f, w in zip(extents, factors, wanted)
    )
    kinds = {"nearest": "nearest_neighbor", "bicubic": "cubic", **dict.fromkeys(_LINEAR, "linear")}
    simple = not symbolic or factors is None or align_corners or all(f == int(f) for f in factors)
    if len(wanted) == 2 and exact and simple and not antialias and mode in kinds:
        nearest = mode == "nearest"
        where = "align_corners" if align_corners else "half_pixel"
        # a step that is whole meets places exactly: no rounding to speak of
        whole = nearest and not symbolic and all(e % w == 0 for e, w in zip(extents, wanted))
        return op.image.resize2d(
            x, ShapeExpr(list(wanted)), layout="NCHW", method=kinds[mode],
            coordinate_transformation_mode="asymmetric" if nearest else where,
            rounding_method="round" if whole or not nearest else "floor",
        )  # fmt: skip
    if symbolic and antialias and align_corners:
        raise refuse(
            "interpolate with align_corners", "a filter over symbolic extents", "extents of numbers"
        )
    return _by_axes(bb, x, wanted, factors, _how(mode, align_corners, antialias))


def _how(mode: str, align_corners: bool, antialias: bool) -> Resampling:
    if mode == "nearest":
        return Resampling("nearest", "asymmetric", "floor")
    if mode == "nearest-exact":
        return Resampling("nearest", "half_pixel", "round_prefer_ceil")
    # torch's wide filters stand on the middles of elements, also where corners meet
    where = "align_corners" if align_corners and not antialias else "half_pixel"
    # a widened filter leaves out what lies outside, others repeat the edge
    options: dict[str, Any] = {"antialias": antialias, "exclude_outside": antialias}
    if mode in _LINEAR:
        return Resampling("linear", where, **options)
    if mode == "bicubic":
        return Resampling("cubic", where, cubic_a=-0.5 if antialias else -0.75, **options)
    legal = "nearest, nearest-exact, area, linear, bilinear, trilinear, bicubic"
    raise refuse("interpolate: mode", repr(mode), legal)


def _by_axes(
    bb: BlockBuilder, x: Expr, wanted: Sequence[Any], factors: Sequence[float] | None,
    how: Resampling,
) -> Expr:  # fmt: skip
    for i, (extent, out) in enumerate(zip(sizes(x)[2:], wanted)):
        if isinstance(extent, PrimExpr) or isinstance(out, PrimExpr):
            x = _by_open_axis(bb, x, i + 2, out, None if factors is None else factors[i], how)
            continue
        scale = out / extent if factors is None else factors[i]
        if extent == out and scale == 1:
            continue
        axis = Axis(extent, out, scale)
        if how.mode == "nearest":
            x = bb.emit(op.take(x, Constant(nearest_indices(axis, how)), i + 2))
        else:
            places, weights = taps(axis, how)
            shares = Constant(weights.astype(dtype_of(x)))
            x = bb.emit_te(
                weighted_taps, x, Constant(places), shares, i + 2, primfunc_name_hint="resize"
            )
    return x


def _by_open_axis(
    bb: BlockBuilder, x: Expr, axis: int, out: Any, factor: float | None, how: Resampling
) -> Expr:
    """Along one axis whose extents only running tells, so that tables are made as it runs."""
    dtype = dtype_of(x)
    if how.antialias:
        shares = bb.emit_te(
            lambda x: open_filter(x.shape[axis], out, factor, how, dtype), x,
            primfunc_name_hint="filter",
        )  # fmt: skip
        if axis == rank(x) - 1:
            return bb.emit(op.matmul(x, shares))
        return bb.emit(op.matmul(bb.emit(op.permute_dims(shares)), x))

    def compute(x: te.Tensor) -> list[te.Tensor]:
        return [*open_taps(x.shape[axis], out, factor, how, dtype)]

    tables = bb.emit_te(compute, x, primfunc_name_hint="taps")
    places, weights = (bb.emit(TupleGetItem(tables, i)) for i in range(2))
    return bb.emit_te(weighted_taps, x, places, weights, axis, primfunc_name_hint="resize")


def _upsample(mode: str, n: int, corners: bool) -> Callable[..., Expr]:
    """Aten: (input, size, [align_corners], scales...) or, `vec`, the scales in one list."""

    def apply(
        bb: BlockBuilder, input: Expr, output_size: Any, *args: Any, align_corners: Any = None,
        scale_factors: Any = None, **named: Any,
    ) -> Expr:  # fmt: skip
        rest = list(args)
        if corners and align_corners is None:
            align_corners = rest.pop(0) if rest else False
        factors = scale_factors
        if factors is None and rest:
            factors = rest[0] if isinstance(rest[0], (list, tuple)) else rest
        if factors is None and named:
            factors = [named.get(k) for k in ("scales_d", "scales_h", "scales_w", "scales")][-n:]
        if factors is not None and (len(factors) < n or any(f is None for f in factors)):
            factors = None
        wanted = output_size
        if wanted is None:
            wanted = [_scaled(bb, e, f) for e, f in zip(sizes(input)[2:], factors or [])]
        antialias = mode.endswith("aa")
        if antialias and align_corners:  # corners that meet tell the factors, here for the filter
            pairs = list(zip(wanted, sizes(input)[2:]))
            if all(isinstance(e, int) and isinstance(w, int) and e > 1 < w for w, e in pairs):
                factors = [(w - 1) / (e - 1) for w, e in pairs]
        return _resized(
            bb, input, wanted, factors, mode.removesuffix("aa"), bool(align_corners), antialias
        )

    return apply


for _n, _names in {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}.items():
    for _mode in _names:
        convert(f"upsample_{_mode}{_n}d")(_upsample(_mode, _n, True))
    convert(f"upsample_nearest{_n}d")(_upsample("nearest", _n, False))
    convert(f"_upsample_nearest_exact{_n}d")(_upsample("nearest-exact", _n, False))
convert("_upsample_bilinear2d_aa")(_upsample("bilinearaa", 2, True))
convert("_upsample_bicubic2d_aa")(_upsample("bicubicaa", 2, True))


# --- at places ---

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _named(value: Any, names: Sequence[str], asked: str) -> str:
    """Aten says numbers, torch.nn names."""
    name = names[value] if isinstance(value, int) else str(value)
    if name not in names:
        raise refuse(asked, repr(name), ", ".join(names))
    return name


@convert("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sample(
    bb: BlockBuilder,
    input: Expr,
    grid: Expr,
    mode: Any = "bilinear",
    padding_mode: Any = "zeros",
    align_corners: bool | None = None,
) -> Expr:
    """The picture at places in [-1, 1], x first, along the grid's last axis."""
    how = _named(mode, _MODES, "grid_sample: mode")
    outside = _named(padding_mode, _PADDINGS, "grid_sample: padding_mode")
    n = rank(input) - 2
    front = bb.emit(op.permute_dims(grid, [0, n + 1, *range(1, n + 1)]))
    return bb.emit_te(
        sample, input, front, how, "NCHW" if n == 2 else "NCDHW", outside, bool(align_corners)
    )


@convert("affine_grid", "affine_grid_generator")
def affine_grid(
    bb: BlockBuilder, theta: Expr, size: Any, align_corners: bool | None = None
) -> Expr:
    """Places of a picture of this size, turned and moved by theta: (n, h, w, 2)"""
    if len(size) == 4 and align_corners:
        made = bb.emit_te(sampling_grid, theta, list(size[2:]))
        return op.permute_dims(made, [0, 2, 3, 1])
    extents = [int(s) for s in size[2:]]
    along = [_steps(extent, bool(align_corners)) for extent in extents]
    grids = np.meshgrid(*along, indexing="ij")[::-1]
    places = np.stack([*grids, np.ones(extents)], -1).reshape(-1, len(extents) + 1)
    base = Constant(places.astype(dtype_of(theta)))
    moved = op.matmul(base, op.permute_dims(theta, [0, 2, 1]))
    return op.reshape(moved, [size[0], *extents, len(extents)])


def _steps(count: int, align_corners: bool) -> Any:
    """From -1 to 1: of the outer elements' middles, or of their edges."""
    ends = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    return ends if align_corners else ends * (count - 1) / count
