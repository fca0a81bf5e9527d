"""Winograd's convolution F(4x4, 3x3) in panels of tiles, as CPUs like it.

A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (2016). Tiles of 6 x 6
inputs become 6 x 6 products with transformed weights, summed over channels, and those 4 x 4
outputs: 36 products replace 144. The tiles of some rows of the image make a panel, whose
tiles lie side by side; so do the weights of some filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.support.checkpoint import checkpoint
from tvm.tir.winograd import (
    FAR,
    KEY,
    NEAR,
    OUTPUTS,
    PADDING,
    SPAN,
    TILE,
    inputs_to_points,
    outputs_of_pairs,
    pairs_of,
)
from tvm.topi.common import compute

from .conv2d import conv2d_nchw
from .pad import pad


@dataclass(frozen=True)
class Panels:
    """`rows` of tiles make a panel; `filters` are summed together."""

    rows: int
    filters: int


def transformed_weights(weight: np.ndarray, filters: int) -> np.ndarray:
    """G g G^T of each filter: (o, c, 3, 3) -> (ceil(o / filters), 36, c, filters), zeros added."""
    outs, channels = weight.shape[:2]
    panels = -(-outs // filters)
    made = np.zeros((panels, SPAN * SPAN, channels, filters), weight.dtype)
    step = max(1, _AT_ONCE // (channels * filters))
    for first in range(0, panels, step):
        checkpoint("the weights of the next filters")
        part = weight[first * filters : (first + step) * filters]
        count = -(-len(part) // filters)
        whole = np.zeros((count * filters, channels, 3, 3))
        whole[: len(part)] = part
        taps = np.ascontiguousarray(
            whole.reshape(count, filters, channels, 3, 3).transpose(3, 4, 0, 2, 1)
        )
        into = made[first : first + count]
        for i, row in enumerate(_at_points(taps)):
            for j, values in enumerate(_at_points(row)):
                into[:, i * SPAN + j] = values
    return made


_AT_ONCE: Final = 1 << 14  # filters of a channel: their numbers stay in a cache


def _at_points(g: Any) -> list[Any]:
    """G g, by what its rows have in common; plain sums, as products of matrices this small would
    spend their time on threads."""
    a, b = NEAR, FAR
    near, far = 2 * a**2 * (a**2 - b**2), 2 * b**2 * (b**2 - a**2)
    found = [g[0] / (a**2 * b**2)]
    for point, scale in ((a, near), (b, far)):
        even, odd = (g[0] + point**2 * g[2]) / scale, point / scale * g[1]
        found += (even + odd, even - odd)
    return [*found, g[2]]


def _chosen(index: Any, values: Sequence[PrimExpr]) -> PrimExpr:
    """The value with this number."""
    result = values[-1]
    for number in range(len(values) - 2, -1, -1):
        result = tir.Select(index == number, values[number], result)
    return result


def winograd_panels(
    data: te.Tensor, weights: te.Tensor, outs: int, padding: Sequence[int], panels: Panels
) -> te.Tensor:
    """(n, c, h, w), weights by `transformed_weights` -> (n, o, oh, ow); padding t, l, b, r."""
    n, channels, height, width = data.shape
    top, left, bottom, right = padding
    simplify = Analyzer().simplify
    high, wide = height + top + bottom - 2, width + left + right - 2
    down, across = simplify((high + 3) // TILE), simplify((wide + 3) // TILE)
    more = [simplify(t * TILE - o) for t, o in ((down, high), (across, wide))]
    padded = pad(
        data, [0, 0, top, left], [0, 0, bottom + more[0], right + more[1]], name="winograd_pad"
    )
    rows, filters = panels.rows, panels.filters
    each = simplify(down // rows)  # panels of an image
    lanes = simplify(across * rows)
    blocks = -(-outs // filters)

    def row(i: Any, y: Any, c: Any, e: Any, x: Any) -> PrimExpr:
        return _chosen(e, inputs_to_points(lambda k: padded(i, c, y * TILE + k, x)))

    vertical = compute(
        (n, down, channels, SPAN, across * TILE + 2), row, name="winograd_rows",
        attrs={KEY: "rows", PADDING: [top, left]},
    )  # fmt: skip

    def column(i: Any, p: Any, e: Any, f: Any, c: Any, r: Any, x: Any) -> PrimExpr:
        return _chosen(f, inputs_to_points(lambda k: vertical(i, p * rows + r, c, e, x * TILE + k)))

    tiles = compute(
        (n, each, SPAN, SPAN, channels, rows, across), column, name="winograd_tiles",
        attrs={KEY: "tiles"},
    )  # fmt: skip
    k = te.reduce_axis((0, channels), name="k")

    def product(i: Any, p: Any, b: Any, e: Any, f: Any, m: Any, q: Any) -> PrimExpr:
        tile = tiles(i, p, e, f, k, q // across, q % across)
        value: PrimExpr = te.sum(weights(b, e * SPAN + f, k, m) * tile, axis=k)
        return value

    products = compute(
        (n, each, blocks, SPAN, SPAN, filters, lanes), product, name="winograd_products",
        attrs={KEY: "products"},
    )  # fmt: skip

    def pair(i: Any, p: Any, b: Any, y: Any, g: Any, m: Any, q: Any) -> PrimExpr:
        def at(f: int) -> PrimExpr:
            points = pairs_of(lambda e: products(i, p, b, e, f, m, q))
            return _chosen(y, [outputs_of_pairs(points, number) for number in range(TILE)])

        return _chosen(g, pairs_of(at))

    pairs = compute(
        (n, each, blocks, TILE, SPAN, filters, lanes), pair, name="winograd_pairs",
        attrs={KEY: "pairs"},
    )  # fmt: skip

    def output(i: Any, o: Any, y: Any, x: Any) -> PrimExpr:
        line = y // TILE
        lane = line % rows * across + x // TILE

        def at(g: int) -> PrimExpr:
            return pairs(i, line // rows, o // filters, y % TILE, g, o % filters, lane)

        total = at(0) * _weights(x, 0)
        for g in range(1, SPAN):
            total = total + at(g) * _weights(x, g)
        return total

    return compute(
        (n, outs, high, wide), output, name="winograd_output", attrs={KEY: "output"}
    )


def winograd_or_direct(
    data: te.Tensor, transformed: te.Tensor, weights: te.Tensor, padding: Sequence[int],
    panels: Panels, pays: Callable[[PrimExpr, PrimExpr, PrimExpr], PrimExpr],
) -> te.Tensor:  # fmt: skip
    """`winograd_panels` where that pays, else the direct sum; the same shape either way.

    `pays` says so of the number of images, and the rows and columns of the result.
    """
    outs = weights.shape[0]
    assert isinstance(outs, tir.IntImm), "weights are of known sizes"
    tiled = winograd_panels(data, transformed, outs.value, padding, panels)
    direct = conv2d_nchw(data, weights, 1, list(padding), 1)
    images, _, high, wide = tiled.shape

    def output(*indices: Any) -> PrimExpr:
        return tir.if_then_else(pays(images, high, wide), tiled(*indices), direct(*indices))

    return compute(tiled.shape, output, name="winograd_or_direct", attrs={KEY: "choice"})


def _weights(x: Any, g: int) -> PrimExpr:
    """What pair `g` counts for in the output at column x."""
    column = [tir.const(OUTPUTS[number][g], "float32") for number in range(TILE)]
    return _chosen(x % TILE, column)
