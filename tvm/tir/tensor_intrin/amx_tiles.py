"""The tile registers of x86 processors (AMX): their shapes, and the names of what they compute.

The programs are those of `amx`, which are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import TensorIntrin

COLUMNS: Final = 16  # of a register of sums
MAX_ROWS: Final = 16
MAX_SUMS: Final = 4  # registers of sums
FIRST_LEFT: Final = 4


class Tiles(NamedTuple):
    """What is in registers: `high` x `wide` tiles of sums, of `rows` x 16 each."""

    rows: int  # 1 to 16
    high: int
    wide: int
    groups: int  # of numbers that are multiplied together, along the sum: 1 to 16

    def words(self) -> list[int]:
        """What LDTILECFG reads, as eight words of 64 bits.

        Palette 1: bytes of a row (16 bits) from byte 16 on, rows (8 bits) from byte 48 on.
        """
        data = bytearray(64)
        data[0] = 1
        for tile in range(8):
            sums, left = tile < FIRST_LEFT, FIRST_LEFT <= tile < FIRST_LEFT + self.high
            data[16 + 2 * tile] = 4 * self.groups if left else 4 * COLUMNS
            data[48 + tile] = self.rows if sums or left else self.groups
        return [int.from_bytes(data[at : at + 8], "little") for at in range(0, 64, 8)]


def group_of(dtype: str) -> int:
    """How many numbers stand side by side, in 32 bits."""
    return 2 if dtype == "bfloat16" else 4


def register_tiles(
    one: str, many: str, tiles: Tiles, swapped: bool, index: str = "int32"
) -> tuple[str, str, str]:
    """The names of `zeros`, `products` and `results`, made when they are first asked for.

    `index` is the data type of the loops that they replace.
    """
    sums = "float32" if one == "bfloat16" else "int32"
    shape = f"{tiles.high}x{tiles.rows}_{tiles.wide}x{COLUMNS}"
    kinds = f"{tiles.groups}_{one}_{many}_{index}{'_swapped' * swapped}"
    names = (f"amx_zeros_{shape}_{sums}_{index}", f"amx_products_{shape}_{kinds}",
             f"amx_results_{shape}_{sums}_{index}")  # fmt: skip
    missing = [TensorIntrin.get(name, allow_missing=True) is None for name in names]
    if any(missing):
        from . import amx  # written in TVMScript, whose parser is not needed before

        makers: tuple[Callable[[], tuple[PrimFunc, PrimFunc]], ...] = (
            partial(amx.zeros, tiles, sums, index),
            partial(amx.products, one, many, sums, tiles, swapped, index),
            partial(amx.results, tiles, sums, index),
        )
        for name, make, is_missing in zip(names, makers, missing):
            if is_missing:
                TensorIntrin.register(name, *make())
    return names
