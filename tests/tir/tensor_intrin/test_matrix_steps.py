"""Meanings of the steps of a product, run by the interpreter beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.tir.interp import run
from tvm.tir.op.arith import const
from tvm.tir.tensor_intrin.matrix_steps import (
    Tile,
    copy_meaning,
    fill_meaning,
    load_meaning,
    product_meaning,
    tile_number,
)


def _spread(i, j):
    """Thread and element of (i, j) of a tile of 4x6, over eight threads."""
    return i % 4 * 2 + j // 3, j % 3


def _tile(rows: int, columns: int, dtype: str = "float32") -> Tile:
    return Tile(rows, columns, dtype, "global")


pytestmark = pytest.mark.pure
SPREAD = Tile(4, 6, "float32", "global", 1, _spread, (8, 3))


def test_fill_sets_all_elements() -> None:
    c = np.ones((8, 3), "float32")
    run(fill_meaning(SPREAD, "init", const(0, "float32")), c)
    np.testing.assert_array_equal(c, 0)


@pytest.mark.parametrize("transposed", [False, True])
def test_copy(transposed: bool) -> None:
    a = np.arange(16, dtype="float32").reshape(4, 4)
    c = np.zeros_like(a)
    run(copy_meaning(_tile(4, 4), _tile(4, 4), "load", transposed), a, c)
    np.testing.assert_array_equal(c, a.T if transposed else a)


def test_load_has_the_registers_first_and_obeys_their_layout() -> None:
    a = np.arange(24, dtype="float32").reshape(4, 6)
    registers = np.zeros((8, 3), "float32")
    run(load_meaning(SPREAD, _tile(4, 6), "load"), registers, a)
    np.testing.assert_array_equal(registers, a.reshape(8, 3))
    back = np.zeros_like(a)
    run(copy_meaning(SPREAD, _tile(4, 6), "store"), registers, back)
    np.testing.assert_array_equal(back, a)


@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_product_sums_in_the_type_of_the_result(a_transposed: bool, b_transposed: bool) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-128, 128, (8, 4) if a_transposed else (4, 8)).astype("int8")
    b = rng.integers(-128, 128, (6, 8) if b_transposed else (8, 6)).astype("int8")
    c = rng.integers(-9, 9, (4, 6)).astype("int32")
    tiles = _tile(*a.shape, "int8"), _tile(*b.shape, "int8"), _tile(4, 6, "int32")
    left, right = (a.T if a_transposed else a), (b.T if b_transposed else b)
    expected = c + left.astype("int32") @ right.astype("int32")
    run(product_meaning(*tiles, "C", a_transposed, b_transposed), a, b, c)
    np.testing.assert_array_equal(c, expected)


def test_tile_number_counts_tiles_in_rows() -> None:
    offset = const(2 * 64 * 8 + 24, "int32")  # third row of tiles of 8x8, fourth of them
    assert int(tile_number(offset, const(64, "int32"), 8, 8)) == 2 * 8 + 3
