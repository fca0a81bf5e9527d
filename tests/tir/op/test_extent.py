from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import structural_equal
from tvm.tir.interp import evaluate
from tvm.tir.op.extent import allocated_bytes

N = tir.Var("n", "int64")
M = tir.Var("m", "int32")


def test_literals_stay() -> None:
    size = allocated_bytes(4, [tir.IntImm("int64", 6), tir.IntImm("int32", 7)])
    assert structural_equal(size, tir.IntImm("int64", 168))
    over = allocated_bytes(4, [tir.IntImm("int64", 1 << 40), tir.IntImm("int64", 1 << 40)])
    assert structural_equal(over, tir.IntImm("int64", -1))


@pytest.mark.parametrize(
    ("extents", "n", "m", "expected"),
    [
        ([N * 4096 * 4096], 5, 0, 4 * 5 << 24),
        ([N * 4096 * 4096], 1 << 38, 0, -1),  # 2^64: nothing, to integers of 64 bits
        ([N, N], 1 << 31, 0, -1),
        ([N, tir.IntImm("int64", 0)], 5, 0, 0),
        ([M * M], 0, 1 << 14, 4 << 28),
        ([M * M], 0, 1 << 16, -1),  # which 32 bits do not hold
        ([(N + 63) // 64 * 64, tir.max(N, 3) - 1], 2, 0, 4 * 64 * 2),
        ([tir.Cast("int64", M) * N], 1 << 40, 1 << 30, -1),
    ],
)
def test_sizes_that_wrap_around_are_below_zero(
    extents: list[tir.PrimExpr], n: int, m: int, expected: int
) -> None:
    size = allocated_bytes(4, extents)
    assert int(evaluate(size, {N: n, M: m})) == expected
