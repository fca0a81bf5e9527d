"""Convolution by Winograd's algorithm (A. Lavin and S. Gray, 2015): fewer products, more sums.

data tiles -> B^T d B,  kernel -> G g G^T,  products summed over channels,  A^T m A -> output
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.target.target import Target
from tvm.topi.common import compute, extents
from tvm.topi.utils import get_const_int

from .conv_nd import per_dimension
from .pad import pad
from .utils import get_pad_tuple
from .winograd_util import winograd_transform_matrices

NCHW, NHWC = "nchw", "nhwc"
WRITE_CACHE_LEVEL = "meta_schedule.write_cache_level"
_BY_ITS_READER = {"schedule_rule": "None"}  # the rule of the transform schedules what it reads


@explained
def conv2d_winograd_weight_transform(kernel: te.Tensor, tile_size: int) -> te.Tensor:
    """The kernel for tiles of `tile_size` outputs.   (o, c, k, k) -> (r, r, o, c)"""
    filters, channels, kh, kw = extents(kernel, "oihw", "conv2d_winograd_weight_transform")
    if get_const_int(kh) != get_const_int(kw):
        raise ShapeError(f"winograd: a kernel of {kh} x {kw}; legal: a square one")
    size = tile_size + get_const_int(kh) - 1
    _, _, g = winograd_transform_matrices(tile_size, get_const_int(kh), kernel.dtype)
    i, j = te.reduce_axis((0, kh), name="r_kh"), te.reduce_axis((0, kw), name="r_kw")

    def element(eps: Any, nu: Any, co: Any, ci: Any) -> PrimExpr:
        value: PrimExpr = te.sum(kernel(co, ci, i, j) * g(eps, i) * g(nu, j), axis=[i, j])
        return value

    return compute((size, size, filters, channels), element, name="transform_weight")


class _Winograd:
    """One convolution: sizes, tiles and stages."""

    def __init__(
        self, data: te.Tensor, weight: te.Tensor, strides: Any, padding: Any, dilation: Any,
        out_dtype: Any, layout: str, transformed: bool,
    ) -> None:  # fmt: skip
        self.last = layout == NHWC
        if per_dimension(strides, 2, "strides") != [1, 1] or (
            per_dimension(dilation, 2, "dilation") != [1, 1]
        ):
            raise ShapeError(
                message(
                    f"conv2d_winograd_{layout}",
                    found=f"strides {strides}, dilation {dilation}",
                    legal="1 for both",
                )
            )
        self.dtype = data.dtype if out_dtype is None else out_dtype
        order = (0, 3, 1, 2) if self.last else (0, 1, 2, 3)
        self.batch, self.channels, height, width = (data.shape[k] for k in order)
        self.tile, self.taps, self.filters = self._sizes(weight, height, transformed)
        self.alpha = self.tile + self.taps - 1
        top, left, down, right = get_pad_tuple(padding, (self.taps, self.taps))
        simplify = Analyzer().simplify
        self.rows = simplify(height + top + down - self.taps + 1)
        self.columns = simplify(width + left + right - self.taps + 1)
        self.tile_rows, self.tile_columns = (
            simplify(tir.indexdiv(n + self.tile - 1, self.tile)) for n in (self.rows, self.columns)
        )
        # the last tiles may reach beyond the padded data: zeros there
        down = down + simplify(self.tile_rows * self.tile - self.rows)
        right = right + simplify(self.tile_columns * self.tile - self.columns)
        before = [0, top, left, 0] if self.last else [0, 0, top, left]
        after = [0, down, right, 0] if self.last else [0, 0, down, right]
        self.padded = pad(data, before, after, name="data_pad", attrs=_BY_ITS_READER)
        self.tiles = simplify(self.batch * self.tile_rows * self.tile_columns)
        self.a, self.b, _ = winograd_transform_matrices(self.tile, self.taps, self.dtype)
        self.weight = weight if transformed else self._transform(weight)

    def _sizes(self, weight: te.Tensor, height: Any, transformed: bool) -> tuple[int, int, Any]:
        """Tile, kernel width and filters; a transformed kernel tells its tile by its size."""
        if transformed:
            size = get_const_int(weight.shape[0])
            return size - 2, 3, weight.shape[-1] if not self.last else weight.shape[2]
        taps = get_const_int(weight.shape[1 if self.last else 2])
        known = isinstance(height, tir.IntImm)
        tile = 4 if known and get_const_int(height) >= 8 and taps <= 3 else 2
        return tile, taps, weight.shape[3 if self.last else 0]

    def _transform(self, weight: te.Tensor) -> te.Tensor:
        """G g G^T, as (r, r, c, o), or (r, r, o, c) for NHWC."""
        _, _, g = winograd_transform_matrices(self.tile, self.taps, weight.dtype)
        i, j = (te.reduce_axis((0, self.taps), name=n) for n in ("r_kh", "r_kw"))

        def at(eps: Any, nu: Any, ci: Any, co: Any) -> PrimExpr:
            tap = weight(i, j, ci, co) if self.last else weight(co, ci, i, j)
            value: PrimExpr = te.sum(tap * g(eps, i) * g(nu, j), axis=[i, j])
            return value

        if self.last:
            shape = (self.alpha, self.alpha, self.filters, self.channels)
            return compute(shape, lambda e, n, co, ci: at(e, n, ci, co), name="weight_pack")
        shape = (self.alpha, self.alpha, self.channels, self.filters)
        return compute(shape, at, name="kernel_pack")

    def _source(self, channel: Any, tile: Any, eps: Any, nu: Any) -> PrimExpr:
        """An element of a tile of the padded data."""
        per_image = self.tile_rows * self.tile_columns
        n, rest = tir.indexdiv(tile, per_image), tir.indexmod(tile, per_image)
        y = tir.indexdiv(rest, self.tile_columns) * self.tile + eps
        x = tir.indexmod(rest, self.tile_columns) * self.tile + nu
        value = self.padded(n, y, x, channel) if self.last else self.padded(n, channel, y, x)
        return value.astype(self.dtype)

    def _by_channel(
        self, name: str, channels: Any, points: int, element: Callable[..., PrimExpr],
        points_last: bool = False, attrs: dict[str, Any] | None = None,
    ) -> Callable[..., PrimExpr]:  # fmt: skip
        """A stage of `element(channel, tile, eps, nu)`; returns what reads it by the same indices.

        NHWC has the channels last in all stages; NCHW has them before the tiles, with the points
        in front, or where `points_last` says so behind.
        """
        square = (points, points)
        if self.last:
            stage = compute(
                (*square, self.tiles, channels), lambda eps, nu, p, ci: element(ci, p, eps, nu),
                name=name, attrs=attrs,
            )  # fmt: skip
            return lambda c, p, eps, nu: stage(eps, nu, p, c)
        if points_last:
            stage = compute((channels, self.tiles, *square), element, name=name, attrs=attrs)
            return lambda c, p, eps, nu: stage(c, p, eps, nu)
        stage = compute(
            (*square, channels, self.tiles), lambda eps, nu, c, p: element(c, p, eps, nu),
            name=name, attrs=attrs,
        )  # fmt: skip
        return lambda c, p, eps, nu: stage(eps, nu, c, p)

    def _notes(self, stage: str, constant_indices: list[str]) -> dict[str, Any]:
        """What a transform tells schedulers: the rule for it, and the loops it is unrolled over."""
        layout = NHWC if self.last else NCHW
        return {
            "auto_scheduler_simplify_const_tensor_indices": constant_indices,
            "schedule_rule": f"conv2d_{layout}_winograd_{stage}",
        }

    def output(self) -> te.Tensor:
        """All stages, up to the convolution."""
        alpha, tile = self.alpha, self.tile
        inputs = self._by_channel(
            "input_tile", self.channels, alpha, self._source, True, _BY_ITS_READER
        )
        ra, rb = (te.reduce_axis((0, alpha), name=n) for n in ("r_a", "r_b"))

        def transformed(c: Any, p: Any, eps: Any, nu: Any) -> PrimExpr:
            value = inputs(c, p, ra, rb) * self.b(ra, eps) * self.b(rb, nu)
            total: PrimExpr = te.sum(value, axis=[ra, rb])
            return total

        notes = self._notes("data_pack", ["eps", "nu", "r_a", "r_b"])
        packed = self._by_channel("data_pack", self.channels, alpha, transformed, attrs=notes)
        ci = te.reduce_axis((0, self.channels), name="ci")

        def product(co: Any, p: Any, eps: Any, nu: Any) -> PrimExpr:
            coords = (eps, nu, co, ci) if self.last else (eps, nu, ci, co)
            value = packed(ci, p, eps, nu) * self.weight(*coords).astype(self.dtype)
            total: PrimExpr = te.sum(value, axis=[ci])
            return total

        given = isinstance(self.weight.op, te.PlaceholderOp)
        attrs: dict[str, Any] = {WRITE_CACHE_LEVEL: [_write_cache_level()]}
        if given:
            attrs["layout_free_placeholders"] = [self.weight]
        gemm = self._by_channel("bgemm", self.filters, alpha, product, attrs=attrs)
        rc, rd = (te.reduce_axis((0, alpha), name=n) for n in ("r_a", "r_b"))

        def back(co: Any, p: Any, y: Any, x: Any) -> PrimExpr:
            value = gemm(co, p, rc, rd) * self.a(rc, y) * self.a(rd, x)
            total: PrimExpr = te.sum(value, axis=[rc, rd])
            return total

        notes = self._notes("inverse", ["vh", "vw", "r_a", "r_b"])
        inverse = self._by_channel("inverse", self.filters, tile, back, True, notes)

        def at(n: Any, co: Any, y: Any, x: Any) -> PrimExpr:
            number = (
                n * self.tile_rows * self.tile_columns
                + tir.indexdiv(y, tile) * self.tile_columns
                + tir.indexdiv(x, tile)
            )
            return inverse(co, number, tir.indexmod(y, tile), tir.indexmod(x, tile))

        name = "conv2d_winograd"
        if self.last:
            shape = (self.batch, self.rows, self.columns, self.filters)
            return compute(
                shape, lambda n, y, x, co: at(n, co, y, x), name=name, tag="conv2d_winograd_nhwc"
            )
        shape = (self.batch, self.filters, self.rows, self.columns)
        return compute(shape, at, name=name, tag="conv2d_winograd_nchw")


def _write_cache_level() -> int:
    """The level of tiles that the results of a product are gathered at, before they are stored."""
    target = Target.current(allow_none=True)
    return 3 if target is not None and target.kind.name == "cuda" else 2


@explained
def conv2d_winograd_nhwc(
    data: te.Tensor, weight: te.Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any,
    pre_computed: bool = False, auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """(n, h, w, c), (k, k, c, o) -> (n, oh, ow, o); a transformed kernel is (r, r, o, c)."""
    return _Winograd(
        data, weight, strides, padding, dilation, out_dtype, NHWC, pre_computed
    ).output()


@explained
def conv2d_winograd_nchw(
    data: te.Tensor, weight: te.Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any,
    pre_computed: bool = False, auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, h, w), (o, c, k, k) -> (n, o, oh, ow); a transformed kernel is (r, r, c, o)."""
    return _Winograd(
        data, weight, strides, padding, dilation, out_dtype, NCHW, pre_computed
    ).output()


@explained
def conv2d_winograd_nhwc_without_weight_transform(
    data: te.Tensor, weight: te.Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """`conv2d_winograd_nhwc` with a transformed kernel."""
    return conv2d_winograd_nhwc(data, weight, strides, padding, dilation, out_dtype, True)


@explained
def conv2d_winograd_nchw_without_weight_transform(
    data: te.Tensor, weight: te.Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """`conv2d_winograd_nchw` with a transformed kernel."""
    return conv2d_winograd_nchw(data, weight, strides, padding, dilation, out_dtype, True)
