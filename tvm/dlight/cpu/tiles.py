"""Register tiles of contractions, by arithmetic from the machine.

A tile of `rows` x `vectors` accumulators is updated once per step of k: `vectors` loads of B, one
broadcast of A a row, rows * vectors FMAs. It fits if accumulators, B vectors and one broadcast
are at most the registers. Fewer loads an FMA is better: measured on a Sapphire Rapids core,
f32 1024^3, the time is about 1 + 0.7 * loads / FMAs (6 x 4: 176 GFLOP/s, 8 x 3: 170, 4 x 4: 166,
12 x 2: 162, 8 x 2: 151).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.target.cpu_model import CpuModel

MAX_ROWS = 16
MAX_VECTORS = 4
LATENCY = 4  # cycles of an FMA on today's cores; ports * latency accumulators hide it
LOAD_COST = 0.7


@dataclass(frozen=True)
class Tile:
    """`rows` of C by `columns`, and how many steps of k stand in the inner loop's body."""

    rows: int
    columns: int
    unroll: int
    lanes: int

    def accumulators(self) -> int:
        """Vector registers that hold the tile."""
        return self.rows * -(-self.columns // self.lanes)


def choose_tile(
    cpu: CpuModel,
    bits: int,
    m: int | None,
    n: int | None,
    k: int | None,
    columns: Sequence[int] | None = None,
) -> Tile:
    """The tile with the least modelled time; None stands for a symbolic extent.

    `columns` are the widths to choose from, by default up to four vectors. Rows past the end are
    computed in vain.
    """
    lanes = cpu.lanes(bits)
    best: tuple[float, Tile] | None = None
    for width in columns or _widths(n, lanes):
        vectors = -(-width // lanes)
        for rows in range(min(MAX_ROWS, m or MAX_ROWS), 0, -1):
            if rows * vectors + vectors + 1 > cpu.vector_registers:
                continue
            cost = _cost(cpu, rows, width, lanes, m, n)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, Tile(rows, width, _unroll(rows * vectors, k), lanes))
    assert best is not None, "a tile of one register always fits"
    return best[1]


def tile_cost(cpu: CpuModel, tile: Tile, m: int | None = None) -> float:
    """Modelled time for each multiplication in full tiles, as `choose_tile` compares them.

    1 is a core that only multiplies; `m` are the rows that there are.
    """
    return _cost(cpu, tile.rows, tile.columns, tile.lanes, m, None)


def _widths(n: int | None, lanes: int) -> list[int]:
    whole = [vectors * lanes for vectors in range(MAX_VECTORS, 0, -1)]
    if n is None or n > whole[0]:
        return whole
    return [round_up(n, lanes)]


def round_up(n: int, lanes: int) -> int:
    """Whole vectors that hold n values; less than one vector becomes a power of two.

    LLVM passes other vectors from one block of code to the next value by value.
    """
    if n >= lanes:
        return -(-n // lanes) * lanes
    width = 1
    while width < n:
        width *= 2
    return width


def _cost(
    cpu: CpuModel, rows: int, width: int, lanes: int, m: int | None, n: int | None
) -> float:
    """Modelled time for each useful multiplication; 1 is a core that only multiplies."""
    vectors = -(-width // lanes)
    fmas = rows * vectors
    cost = 1 + LOAD_COST * (rows + vectors) / fmas
    cost *= max(1.0, cpu.fma_ports * LATENCY / fmas)  # too few chains to fill the pipes
    if width < lanes:
        cost *= lanes / width
    if n is not None:
        cost *= -(-n // width) * width / n
    if m is not None and m % rows:
        cost *= -(-m // rows) * rows / m
    return cost


def _unroll(accumulators: int, k: int | None) -> int:
    """Steps of k in the body: more where there are few accumulators (4 x 4: 148 -> 164 GFLOP/s)."""
    if k is None:
        return 1
    most = 4 if accumulators <= 16 else 2
    return max(steps for steps in range(1, most + 1) if k % steps == 0)
