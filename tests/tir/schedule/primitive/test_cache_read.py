from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, check, matmul, open_schedule, refuses
from tvm.tir.schedule import BlockRV


def test_parameter() -> None:
    func = matmul()
    sch = open_schedule(func)
    copy = sch.cache_read("C", 1, "local")
    assert isinstance(copy, BlockRV)
    text = sch.mod.script()
    assert 'B_local = T.alloc_buffer((16, 12), scope="local")' in text
    assert "A[v_i, v_k] * B_local[v_k, v_j]" in text
    check(sch, func)


def test_by_name_and_for_some_consumers() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.cache_read("C", "B", "global", consumer_blocks=["C"])
    assert "C[v_i, v_j] = B_global[v_i, v_j] + T.float32(1.0)" in sch.mod.script()
    check(sch, func)


def test_result_of_another_block() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.cache_read("D", 0, "shared")
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["B", "C", "C_shared", "D"]
    check(sch, func)


def test_refusals() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    refuses(sch, "there is no number 7", "cache_read", block, 7, "local")
    refuses(sch, "scope 'nowhere' is unknown", "cache_read", block, 0, "nowhere")


def test_unknown_buffer_name() -> None:
    sch = open_schedule(matmul())
    with pytest.raises(ValueError, match="does not read the buffer 'Z'"):
        sch.cache_read("C", "Z", "local")
