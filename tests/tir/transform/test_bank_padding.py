from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.transform.bank_padding import padded

pytestmark = pytest.mark.pure

COLUMN = [(row, 0) for row in range(32)]
ROW = [(0, column) for column in range(32)]


@pytest.mark.parametrize(
    ("dtype", "points", "least", "stride"),
    [
        ("float32", ROW, 1, 128),  # neighbours never meet
        ("float32", COLUMN, 1, 129),
        ("float32", COLUMN, 8, 136),
        ("float16", COLUMN, 1, 130),  # two elements are one word
    ],
)
def test_the_least_gap_with_the_fewest_conflicts(
    dtype: str, points: list[tuple[int, ...]], least: int, stride: int
) -> None:
    buffer = padded(tir.decl_buffer((32, 128), dtype, scope="shared"), [points], least)
    assert [int(s) for s in buffer.strides] == [stride, 1]


def test_buffers_that_stay() -> None:
    for buffer in (
        tir.decl_buffer((32, 128), strides=(128, 1)),
        tir.decl_buffer((32, tir.Var("n", "int32"))),
    ):
        assert padded(buffer, [COLUMN], 1) is buffer
