from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR
from tvm.dlight.cpu.tiles import choose_tile, round_up
from tvm.target import Target


@pytest.mark.parametrize(
    ("m", "n", "rows", "columns"),
    [
        (1024, 1024, 6, 64),
        (960, 960, 6, 64),
        (960, 480, 9, 48),
        (None, None, 6, 64),
        (32, 16, 16, 16),
    ],
)
def test_tiles_of_avx512(m: int | None, n: int | None, rows: int, columns: int) -> None:
    tile = choose_tile(SPR.cpu, 32, m, n, 1024)
    assert (tile.rows, tile.columns) == (rows, columns)


@pytest.mark.parametrize("target", [SPR, HASWELL, NEON], ids=str)
@pytest.mark.parametrize("m", [None, 1, 7, 64, 1021])
@pytest.mark.parametrize("n", [None, 3, 50, 1000])
def test_tiles_fit_the_registers(target: Target, m: int | None, n: int | None) -> None:
    cpu = target.cpu
    tile = choose_tile(cpu, 32, m, n, 7)
    vectors = -(-tile.columns // tile.lanes)
    assert tile.rows * vectors + vectors + 1 <= cpu.vector_registers
    assert m is None or tile.rows <= m
    assert 7 % tile.unroll == 0


def test_whole_vectors_or_powers_of_two() -> None:
    assert [round_up(n, 16) for n in (1, 3, 5, 16, 17, 50)] == [1, 4, 8, 16, 32, 64]
