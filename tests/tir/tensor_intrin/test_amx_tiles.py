"""The shapes of the tile registers of x86 processors."""

from __future__ import annotations

import pytest

from tvm.tir.tensor_intrin.amx_tiles import Tiles

pytestmark = pytest.mark.pure


def test_words() -> None:
    """Sums and the left operand have 13 rows, the right one a row for each of five groups."""
    data = b"".join(word.to_bytes(8, "little") for word in Tiles(13, 2, 2, 5).words())
    assert (data[0], data[1]) == (1, 0)
    assert [int.from_bytes(data[16 + 2 * i : 18 + 2 * i], "little") for i in range(8)] == [
        64, 64, 64, 64, 20, 20, 64, 64
    ]  # fmt: skip
    assert list(data[48:56]) == [13, 13, 13, 13, 13, 13, 5, 5]
