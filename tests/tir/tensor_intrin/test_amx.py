"""What stands for products in the tile registers of x86 processors."""

from __future__ import annotations

import pytest

from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.tensor_intrin.amx_tiles import Tiles, register_tiles

pytestmark = pytest.mark.pure


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
