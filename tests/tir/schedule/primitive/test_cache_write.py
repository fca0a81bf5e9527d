from __future__ import annotations

from typing import Any

import pytest

from tests.tir.schedule.cases import chain, check, matmul, matmul_relu, open_schedule, refuses
from tvm.script import tir as T


def test_output() -> None:
    func = matmul()
    sch = open_schedule(func)
    sch.cache_write("C", 0, "local")
    text = sch.mod.script()
    assert "C_local[v_i, v_j] = C_local[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]" in text
    assert "C[v0, v1] = C_local[v0, v1]" in text
    check(sch, func)


def test_consumers_may_read_the_copy() -> None:
    func = matmul_relu()
    sch = open_schedule(func)
    sch.cache_write("C", "C", "local", consumer_blocks=["D"])
    assert "T.max(C_local[v_i, v_j], T.float32(0.0))" in sch.mod.script()
    check(sch, func)


def test_update_of_what_another_block_began() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    init = sch.decompose_reduction(block, sch.get_loops(block)[2])
    refuses(sch, "starts from what was there before", "cache_write", block, 0, "local")
    sch.cache_write(init, 0, "local")
    _, j, *_ = sch.get_loops(init)
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(j)]
    assert names == ["C_init", "C_local", "C_update"]  # in front of who updates it
    check(sch, matmul())


def test_copy_stands_before_the_first_reader() -> None:
    func = chain()
    sch = open_schedule(func)
    i, _ = sch.get_loops("C")
    sch.compute_at("B", i)
    sch.cache_write("B", 0, "local")
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(i)]
    assert names == ["B", "B_local", "C"]
    check(sch, func)


@pytest.mark.parametrize(
    ("primitive", "shown"),
    [
        (lambda sch: sch.cache_write("B", 0, "local"), "for ax0 in range(9)"),
        (lambda sch: sch.reindex("B", ("write", 0)), "for ax0 in range(9)"),
        (lambda sch: sch.reindex_cache_write("B", 0, "local", lambda i: i), "T.where(i < 9)"),
    ],
)
def test_what_a_predicate_leaves_out_is_not_copied_back(primitive: Any, shown: str) -> None:
    @T.prim_func
    def before(A: T.Buffer((12,)), B: T.Buffer((12,))):
        for i in range(12):
            with T.block("B"):
                T.where(i < 9)
                vi = T.axis.spatial(12, i)
                B[vi] = A[vi] + T.float32(1)

    sch = open_schedule(before)
    primitive(sch)
    assert shown in sch.mod.script()
    check(sch, before)


def test_parts_of_a_loop_copy_their_part() -> None:
    @T.prim_func
    def before(A: T.Buffer((12,)), B: T.Buffer((12,))):
        for i in range(12):
            with T.block("B"):
                vi = T.axis.spatial(12, i)
                B[vi] = A[vi] + T.float32(1)

    sch = open_schedule(before)
    sch.loop_partition(sch.get_loops("B")[0], [5, None])
    sch.reindex("B_i1", ("write", 0))
    assert "T.axis.spatial((5, 12), 5 + ax0)" in sch.mod.script()
    check(sch, before)
