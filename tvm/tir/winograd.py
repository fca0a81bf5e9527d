"""The sums of Winograd's F(4, 3): four outputs of a filter of three taps, from six products.

A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (2016). In two dimensions
the sums are taken along columns, then along rows; tiles of 6 x 6 inputs become 4 x 4 outputs.

The points are 0, 3/4, -3/4, 3/2, -3/2 and infinity: with these the error is that of a direct sum in
the same precision (measured over the root mean square of the output: 6e-6 to 9e-6; with the
points 1 and 2 it is 2e-5 to 3e-5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel

TILE: Final = 4  # outputs of a tile, in each direction
SPAN: Final = 6  # inputs of a tile
KEY: Final = "winograd"  # the annotation that tells which stage a block is
PADDING: Final = "winograd_padding"  # rows above the plane, columns to its left
ANY_VECTORS: Final = 3  # of a panel whose size is chosen when the program runs
NEAR: Final = 0.75  # the points, with both signs
FAR: Final = 1.5
_A, _B = NEAR, FAR
_A2, _B2 = _A * _A, _B * _B


def max_vectors(cpu: CpuModel, filters: int) -> int:
    """How many vectors of tiles fit into registers beside the sums of some filters."""
    fits = (v for v in range(1, ANY_VECTORS + 1) if (filters + 1) * v + 1 <= cpu.vector_registers)
    return max(fits, default=1)


def inputs_to_points(d: Callable[[int], PrimExpr]) -> list[PrimExpr]:
    """B^T d: six inputs of a tile to the six points."""
    even_a, odd_a = d(4) - d(2) * _B2, (d(3) - d(1) * _B2) * _A
    even_b, odd_b = d(4) - d(2) * _A2, (d(3) - d(1) * _A2) * _B
    both, product = _A2 + _B2, _A2 * _B2
    return [
        d(4) - d(2) * both + d(0) * product,
        even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b,
        d(5) - d(3) * both + d(1) * product,
    ]  # fmt: skip


def pairs_of(m: Callable[[int], PrimExpr]) -> list[PrimExpr]:
    """The values at the points, those of both signs added and subtracted."""
    return [m(0), m(1) + m(2), m(1) - m(2), m(3) + m(4), m(3) - m(4), m(5)]


# What each of the pairs counts for in the four outputs: A^T with the signs taken out.
OUTPUTS: Final = (
    (1.0, 1.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, _A, 0.0, _B, 0.0),
    (0.0, _A2, 0.0, _B2, 0.0, 0.0),
    (0.0, 0.0, _A2 * _A, 0.0, _B2 * _B, 1.0),
)


def outputs_of_pairs(p: Sequence[PrimExpr], number: int) -> PrimExpr:
    """One of the four outputs, of pairs: A^T m."""
    terms = [x if c == 1 else x * c for x, c in zip(p, OUTPUTS[number]) if c]
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result
