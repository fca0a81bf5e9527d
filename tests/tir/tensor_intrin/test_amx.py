"""Tile registers of x86 processors: their shapes, and what stands for products in them."""

from __future__ import annotations

import pytest

from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.tensor_intrin.amx import Tiles, register_tiles

pytestmark = pytest.mark.pure


def test_words() -> None:
    """Sums and the left operand have 13 rows, the right one a row for each of five groups."""
    data = b"".join(word.to_bytes(8, "little") for word in Tiles(13, 2, 2, 5).words())
    assert (data[0], data[1]) == (1, 0)
    assert [int.from_bytes(data[16 + 2 * i : 18 + 2 * i], "little") for i in range(8)] == [
        64, 64, 64, 64, 20, 20, 64, 64
    ]  # fmt: skip
    assert list(data[48:56]) == [13, 13, 13, 13, 13, 13, 5, 5]


@pytest.mark.parametrize(
    ("one", "many", "name"),
    [("int8", "int8", "tdpbssd"), ("int8", "uint8", "tdpbsud"), ("uint8", "int8", "tdpbusd"),
     ("uint8", "uint8", "tdpbuud"), ("bfloat16", "bfloat16", "tdpbf16ps")],
)  # fmt: skip
def test_instructions(one: str, many: str, name: str) -> None:
    zeros, products, results = register_tiles(one, many, Tiles(16, 1, 4, 16), False, "int64")
    assert register_tiles(one, many, Tiles(16, 1, 4, 16), False, "int64")[1] == products
    texts = [TensorIntrin.get(each).impl.script() for each in (zeros, products, results)]
    assert texts[0].count("tilezero") == texts[2].count("tilestored64") == 4
    assert texts[1].count(f'"llvm.x86.{name}"') == 4
    # the fourth of four tiles of columns takes the register of the first
    assert texts[1].count("tileloadd64") == 5
    assert texts[1].count('"llvm.x86.tileloadd64", T.int8(5)') == 2
