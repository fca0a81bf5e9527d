from __future__ import annotations

import pytest

import tvm
from tests.tir.schedule.cases import matmul, open_schedule, stencil
from tvm.script import tir as T
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
    assert made.stmt.name_hint == "A_turned"
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
