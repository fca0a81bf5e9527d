from __future__ import annotations

import pytest

from tests.covering import long
from tests.dlight.gpu.lowered import ADRENO, check, scheduled
from tests.dlight.gpu.workloads import product
from tvm.dlight.gpu import Matmul


@pytest.mark.parametrize(("n", "k"), [long(256, 64), long(40, 24), (5, 3)])
def test_rows_are_packed_where_their_number_is_symbolic(n: int, k: int) -> None:
    func = product("n", n, k, batch=1, transposed=False)
    text = str(check(Matmul(), func, ADRENO, sizes={"n": 35}))
    assert f"alloc_buffer((1, (n + 15) // 16, {k}, 16)" in text
    assert "T.vectorized(16)" in text


def test_what_follows_takes_the_place_of_the_crop() -> None:
    func = product("n", 64, 32, batch=1, transposed=False, epilogue=True)
    text = str(check(Matmul(), func, ADRENO, sizes={"n": 17}))
    assert 'T.block("D")' in text
    assert 'T.block("C_pad")' not in text


def test_known_rows_more_batches_and_sums_along_memory_keep_tiles() -> None:
    for func in (
        product(64, 64, 32, batch=1, transposed=False),
        product("n", 64, 32, batch=2, transposed=False),
        product("n", 64, 32, batch=1, transposed=True),
    ):
        assert "// 16, 32, 16)" not in str(scheduled(Matmul(), func, ADRENO))
