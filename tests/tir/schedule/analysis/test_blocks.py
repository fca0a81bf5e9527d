from __future__ import annotations

from tests.tir.schedule.cases import chain, matmul
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.analysis import has_block, is_output_block
from tvm.tir.schedule.analysis.blocks import is_complete, is_reduction


def test_kinds() -> None:
    sch = Schedule(matmul())
    block = sch.get_sref(sch.get_block("C"))
    assert is_reduction(sch.state, block)
    assert not is_complete(sch.state, block)
    sch = Schedule(chain())
    assert is_complete(sch.state, sch.get_sref(sch.get_block("B")))


def test_two_halves_of_a_reduction_are_neither() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    sref = sch.get_sref(block)
    assert not is_reduction(sch.state, sref)
    assert not is_complete(sch.state, sref)


def test_questions_of_users() -> None:
    sch = Schedule(chain())
    assert has_block(sch, "C")
    assert not has_block(sch, "Z")
    assert is_output_block(sch, sch.get_block("D"))
    assert not is_output_block(sch, sch.get_block("C"))
