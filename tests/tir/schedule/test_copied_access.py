from __future__ import annotations

import pytest

import tvm
from tests.tir.schedule.cases import check, matmul, open_schedule, stencil
from tvm.script import tir as T
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.schedule.copied_access import CopiedAccess
from tvm.tir.schedule.error import Illegal


def test_a_read_goes_through_a_copy_with_any_layout() -> None:
    func = matmul()
    sch = open_schedule(func)
    access = CopiedAccess(sch.state, sch.get_sref(sch.get_block("C")), 0, written=False)
    i, _, k = access.node.iter_vars
    assert access.buffer.name == "A"
    assert list(access.indices) == [i.var, k.var]
    copy = access.buffer.with_changes(name="A_turned", shape=(16, 12))
    made = access.through(copy, [i, k], [k.var, i.var])
    assert made.stmt.name_hint == "A_turned_reindex"
    text = sch.mod.script()
    assert "A_turned[v1, v0] = A[v0, v1]" in text
    assert "A_turned[v_k, v_i]" in text


def test_the_place_must_be_one() -> None:
    sch = open_schedule(stencil())
    with pytest.raises(Illegal, match="at several indices"):
        CopiedAccess(sch.state, sch.get_sref(sch.get_block("C")), 0, written=False)


def test_an_update_without_an_init_is_refused() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("update"):
                vi = T.axis.spatial(8, i)
                B[vi] = B[vi] + A[vi]

    sch = tvm.tir.Schedule(func)
    with pytest.raises(tvm.tir.ScheduleError, match="starts from what was there before"):
        sch.reindex(sch.get_block("update"), ("write", 0))


@T.prim_func
def gather(A: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("P"):
            vi = T.axis.spatial(16, i)
            P[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = P[vi * 2 + 1] + A[vi]


def test_a_copy_reads_what_its_indices_look_up() -> None:
    sch = Schedule(gather, debug_mask="all")
    sch.cache_index("C", "global", 0)
    copy = sch.reindex_cache_read("C", 0, "shared", lambda i: i)
    check(sch, gather)
    assert [r.buffer.name for r in sch.get(copy).reads] == ["P", "index_var_0"]
    with pytest.raises(ScheduleError, match="consumers"):
        sch.compute_at("index_0", sch.get_loops("C")[0])


def test_a_copy_of_an_argument_waits_for_its_indices() -> None:
    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi * 2 + 1]

    sch = Schedule(func, debug_mask="all")
    sch.cache_index("C", "global", 0)
    sch.reindex_cache_read("C", 0, "shared", lambda i: i)
    root = sch.get_block("root")
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(root)]
    assert names == ["index_0", "A_shared", "C"]
    check(sch, func)


def test_indices_that_are_computed_beside_the_block_are_refused() -> None:
    @T.prim_func
    def told(A: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
        P = T.alloc_buffer((16,))
        index_var_0 = T.alloc_buffer((8,), "int32")
        for i in range(16):
            with T.block("P"):
                vi = T.axis.spatial(16, i)
                P[vi] = A[vi] * 2.0
        for i in range(8):
            with T.block("index_0"):
                vi = T.axis.spatial(8, i)
                index_var_0[vi] = vi * 2 + 1
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = P[index_var_0[vi]] + A[vi]

    sch = Schedule(told, debug_mask="all")
    sch.compute_at("index_0", sch.get_loops("C")[0])
    for copy in (
        lambda: sch.reindex_cache_read("C", 0, "shared", lambda i: i),
        lambda: sch.reindex("C", ("read", 0)),
    ):
        with pytest.raises(ScheduleError, match="only part of 'index_var_0' is there at a time"):
            copy()


def test_a_part_of_what_a_box_holds_is_not_written_back() -> None:
    @T.prim_func
    def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(4, i // 4)
                vj = T.axis.spatial(4, i % 4)
                B[vi, vj] = A[vi, vj] * 2.0

    for reindexed in (
        lambda sch, block: sch.reindex(block, ("write", 0)),
        lambda sch, block: sch.reindex_cache_write(block, 0, "local", lambda i, j: (j, i)),
    ):
        sch = Schedule(func, debug_mask="all")
        reindexed(sch, "B")
        check(sch, func)
        sch = Schedule(func, debug_mask="all")
        sch.loop_partition(sch.get_loops("B")[0], [2, None])
        with pytest.raises(ScheduleError, match="only some of the elements of 'B'"):
            reindexed(sch, "B_i1")
        check(sch, func)
