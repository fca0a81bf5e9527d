"""Three-dimensional convolution by Winograd's algorithm, its kernel transformed beforehand.

    tiles -> B^T d B along each axis -> a product for each of the r * r * r places -> A^T m A

(Lavin and Gray, 2015, along one more axis; with few slices of depth along height and width alone.)
"""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import compute
from tvm.topi.utils import get_const_int

from .conv_nd import per_dimension
from .pad import pad
from .utils import get_pad_tuple3d
from .winograd_util import winograd_transform_matrices


@explained
def conv3d_ncdhw_winograd_without_weight_transform(
    data: te.Tensor, weight: te.Tensor, tile_size: int, strides: Any, padding: Any, dilation: Any,
    out_dtype: Any = None, kernel_depth: int | None = None,
) -> te.Tensor:  # fmt: skip
    """(n, c, d, h, w), (r, r, r or kd, o, c) -> (n, o, od, oh, ow)

    The weight is what `conv3d_winograd_weight_transform` makes; r = tile_size + kw - 1. Depth is
    taken as transformed where the weight is r deep, other than `kernel_depth` says.

    Raises ShapeError for strides and dilation other than 1, and for a weight of another form.
    """
    name = "conv3d_winograd"
    found = f"strides {strides}, dilation {dilation}"
    if per_dimension(strides, 3, "strides") != [1] * 3 or (
        per_dimension(dilation, 3, "dilation") != [1] * 3
    ):
        raise ShapeError(message(name, found=found, legal="1 for all"))
    r, other, deep = (get_const_int(extent) for extent in weight.shape[:3])
    taps = r - tile_size + 1
    whole = deep == r and kernel_depth in (None, taps)
    if r != other or taps < 1 or not (whole or kernel_depth in (None, deep)):
        legal = "(r, r, r or depth of the kernel, filters, channels), r = tile_size + width - 1"
        asked = f"{name}: tile_size {tile_size}"
        raise ShapeError(message(asked, found=f"a weight {weight.shape}", legal=legal))
    batch, channels = data.shape[:2]
    filters = weight.shape[3]
    dtype = data.dtype if out_dtype is None else out_dtype
    width = [taps if whole else deep, taps, taps]
    before = get_pad_tuple3d(padding, width)
    simplify = Analyzer().simplify
    size = [
        simplify(extent + before[at] + before[at + 3] - width[at] + 1)
        for at, extent in enumerate(data.shape[2:])
    ]
    tiled = (0, 1, 2) if whole else (1, 2)
    count = [
        simplify(tir.indexdiv(n + tile_size - 1, tile_size)) if at in tiled else n
        for at, n in enumerate(size)
    ]
    # the last tiles may reach beyond the padded data: zeros there
    behind = [
        before[at + 3] + (simplify(count[at] * tile_size - size[at]) if at in tiled else 0)
        for at in range(3)
    ]
    padded = pad(data, [0, 0, *before[:3]], [0, 0, *behind], name="data_pad")
    a, b, _ = winograd_transform_matrices(tile_size, taps, dtype)
    lead = len(tiled)

    def read(*i: Any) -> PrimExpr:
        within, (channel, sample, *where) = i[:lead], i[lead:]
        places = [
            where[at] * tile_size + within[tiled.index(at)] if at in tiled else where[at]
            for at in range(3)
        ]
        return padded(sample, channel, *places).astype(dtype)

    slices = count if whole else [simplify(count[0] + deep - 1), *count[1:]]
    tiles = compute((*[r] * lead, channels, batch, *slices), read, name="input_tile")
    for axis in range(lead):
        tiles = _contracted(tiles, axis, b, r, "data_pack")
    products = _products(tiles, weight, whole, filters, channels, batch, count, deep)
    for axis in range(lead):
        products = _contracted(products, axis, a, tile_size, "inverse")

    def place(sample: Any, filter_: Any, *where: Any) -> PrimExpr:
        within = [tir.indexmod(where[at], tile_size) for at in tiled]
        tile = [
            tir.indexdiv(at, tile_size) if k in tiled else at for k, at in enumerate(where)
        ]
        value: PrimExpr = products(*within, filter_, sample, *tile)
        return value

    return compute((batch, filters, *size), place, name="output", tag="conv3d_ncdhw_winograd")


def _contracted(x: te.Tensor, axis: int, matrix: te.Tensor, rows: int, name: str) -> te.Tensor:
    """The sums of products along an axis with the columns of a matrix."""
    k = te.reduce_axis((0, x.shape[axis]), name="k")

    def element(*i: Any) -> PrimExpr:
        value = x(*i[:axis], k, *i[axis + 1 :]) * matrix(k, i[axis])
        total: PrimExpr = te.sum(value, axis=[k])
        return total

    return compute((*x.shape[:axis], rows, *x.shape[axis + 1 :]), element, name=name)


def _products(
    tiles: te.Tensor, weight: te.Tensor, whole: bool, filters: Any, channels: Any, batch: Any,
    count: list[Any], deep: int,
) -> te.Tensor:  # fmt: skip
    """For each place of a tile: the products of its channels with the kernel's."""
    r = tiles.shape[0]
    c = te.reduce_axis((0, channels), name="c")
    if whole:

        def element(*i: Any) -> PrimExpr:
            eps, nu, third, o, *rest = i
            value = tiles(eps, nu, third, c, *rest) * weight(eps, nu, third, o, c)
            total: PrimExpr = te.sum(value.astype(tiles.dtype), axis=[c])
            return total

        return compute((r, r, r, filters, batch, *count), element, name="bgemm")
    k = te.reduce_axis((0, deep), name="k")

    def slices(*i: Any) -> PrimExpr:
        eps, nu, o, sample, depth, *rest = i
        value = tiles(eps, nu, c, sample, depth + k, *rest) * weight(eps, nu, k, o, c)
        total: PrimExpr = te.sum(value.astype(tiles.dtype), axis=[c, k])
        return total

    return compute((r, r, filters, batch, *count), slices, name="bgemm")
