"""The matrices of Winograd's convolution (A. Lavin and S. Gray, Fast Algorithms for Convolutional
Neural Networks, 2015), from the Cook-Toom construction over chosen points."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from tvm import te
from tvm.support.dtype import DataType
from tvm.topi.utils import const_matrix

# Points at which polynomials are evaluated, by how many are needed: those of the least error that
# B. Barabasz, A. Anderson, K. Soodhalter and D. Gregg found ("Error Analysis and Improving the
# Accuracy of Winograd Convolution for Deep Neural Networks", 2018). Others take the longest.
_FEW: Final = "0 -1 1 1/2 -2 -1/2"
_MORE: Final = "0 -1 1 1/2 -1/2 2 -2 -1/4"
_MANY: Final = f"{_MORE} 4 3/4 -4/3 1/4"
_MOST: Final = f"{_MORE} 4 1/4 -3/4 4/3 -4 3 -3"
_LISTS: Final = {
    **dict.fromkeys(range(7), _FEW), 7: _MORE, 8: _MORE, 9: _MANY, 10: f"{_MORE} 3/4 -4/3",
    11: _MANY, 12: _MANY,
}  # fmt: skip


def _points(count: int) -> list[Fraction]:
    found = [Fraction(text) for text in _LISTS.get(count, _MOST).split()]
    if count > len(found):
        raise ValueError(
            f"winograd: tile and kernel need {count} points; legal: up to {len(found)}"
        )
    return found[:count]


Rows = list[list[Fraction]]


def _product(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    """The product of two polynomials, lowest power first."""
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def _without(points: list[Fraction], skip: int | None) -> list[Fraction]:
    """The product of (x - p) over all points but one."""
    poly = [Fraction(1)]
    for i, p in enumerate(points):
        if i != skip:
            poly = _product(poly, [-p, Fraction(1)])
    return poly


def cook_toom(outputs: int, taps: int) -> tuple[Rows, Rows, Rows]:
    """(A, B, G) with y = A^T ((G g) * (B^T d)) for a filter g and data d, exact.

    The last point is infinity. With n = outputs + taps - 1, A is (n, outputs), B (n, n) and
    G (n, taps).
    """
    n = outputs + taps - 1
    points = _points(n - 1)
    zero, one = Fraction(0), Fraction(1)
    powers = [[p**k for k in range(n)] for p in points]
    weights = []
    for i, p in enumerate(points):
        scale = one
        for j, other in enumerate(points):
            scale *= (p - other) if j != i else one
        weights.append(scale)
    a = [row[:outputs] for row in powers] + [[zero] * (outputs - 1) + [one]]
    g = [[x / w for x in row[:taps]] for row, w in zip(powers, weights)]
    g.append([zero] * (taps - 1) + [one])
    columns = [[*_without(points, i), zero] for i in range(n - 1)] + [_without(points, None)]
    b = [[columns[j][i] for j in range(n)] for i in range(n)]
    return a, b, g


def winograd_arrays(
    tile_size: int, kernel_size: int, dtype: Any
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(A, B, G) as numpy arrays."""
    kind = np.dtype(str(DataType(dtype)))
    a, b, g = (np.array([[float(x) for x in row] for row in rows], kind)
               for rows in cook_toom(tile_size, kernel_size))  # fmt: skip
    return a, b, g


def winograd_transform_matrices(
    tile_size: int, kernel_size: int, out_dtype: Any
) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """The matrices A, B and G as stages of constants."""
    a, b, g = winograd_arrays(tile_size, kernel_size, out_dtype)
    return const_matrix(a, "A"), const_matrix(b, "B"), const_matrix(g, "G")
