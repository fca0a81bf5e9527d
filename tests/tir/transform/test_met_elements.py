from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.transform.met_elements import stores_meet

pytestmark = pytest.mark.pure

tx, ty, k = (tir.Var(name, "int32") for name in ("tx", "ty", "k"))
B = tir.decl_buffer((64,), "int32")
xor = tir.bitwise_xor

CASES = [
    ([tx], [tx], False),
    ([tx], [tx + 1], True),
    ([tx * 2], [tx * 2 + 1], False),
    ([tx], [31 - tx], True),
    ([tx + k], [tx + k * 2], True),
    ([tir.IntImm("int32", 0)], [tir.IntImm("int32", 0)], True),  # all threads store there
    ([tx, tx % 2], [tx, 1 - tx % 2], False),
    ([tx // 4, tx % 4], [tx % 8, tx // 8], True),
    ([xor(tx, 3)], [xor(tx, 3)], False),
    ([xor(tx, 3)], [tx], True),
    ([tir.Ramp(tx * 8, 1, 4)], [tir.Ramp(tx * 8 + 4, 1, 4)], False),
    ([tir.Ramp(tx * 4, 1, 8)], [tx * 4], True),
    ([tir.truncdiv(tx - 16, 4)], [tx + 3], True),
    ([tx], [B[tx]], True),
    ([B[tx]], [B[tx + 32]], False),
]


@pytest.mark.parametrize(("one", "other", "meet"), CASES)
def test_elements_of_a_block(one: list, other: list, meet: bool) -> None:
    assert stores_meet(one, other, {tx: 32}, {k: 1}) is meet
    assert stores_meet(other, one, {tx: 32}, {k: 1}) is meet


def test_two_axes_of_threads() -> None:
    threads = {ty: 4, tx: 8}
    assert not stores_meet([ty * 8 + tx], [ty * 8 + tx], threads, {})
    assert stores_meet([tx], [tx], threads, {})  # of each, four threads
    assert stores_meet([ty * 8 + tx], [ty + tx * 4], threads, {})
    assert not stores_meet([tx + 0], [tx + 8], threads, {})


def test_blocks_too_large_to_count_may_meet() -> None:
    assert stores_meet([tx], [tx], {tx: 1 << 20}, {})
