from __future__ import annotations

from tests.tir.schedule.cases import check, elementwise
from tvm.dlight.base import auto_vectorize, get_bytes, get_extent, suggest_threads_per_block
from tvm.target import Target
from tvm.tir.schedule import Schedule


def test_bytes_and_extents() -> None:
    assert get_bytes("float16") == 2
    sch = Schedule(elementwise(8, 16))
    assert [get_extent(sch, loop) for loop in sch.get_loops("B")] == [8, 16]


def test_auto_vectorize() -> None:
    func = elementwise(8, 16)
    sch = Schedule(func)
    auto_vectorize(sch, sch.get_loops("B")[1], 4)
    assert "T.vectorized(4)" in sch.mod.script()
    check(sch, func)


def test_threads_fit_a_block() -> None:
    sch = Schedule(elementwise(8, 1024))
    loops = [sch.get(loop) for loop in sch.get_loops("B")]
    threads = suggest_threads_per_block(Target("cuda"), loops)
    assert threads[0] * threads[1] <= 1024
    assert threads[0] == 8
