from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul_relu, open_schedule, refuses, stencil


def test_inline_chain() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.compute_inline("B")
    sch.compute_inline("C")
    text = sch.mod.script()
    assert "alloc_buffer" not in text
    assert "T.reads(A[v_i, v_j])" in text
    check(sch, func)


def test_inline_into_a_stencil() -> None:
    func = stencil()
    sch = open_schedule(func)
    sch.compute_inline("B")
    assert "T.reads(A[v_i:v_i + 3])" in sch.mod.script()
    check(sch, func)


def test_outputs_are_not_inlined() -> None:
    sch = open_schedule(chain())
    refuses(sch, "an output of its scope", "compute_inline", sch.get_block("D"))


def test_reductions_are_not_inlined() -> None:
    sch = open_schedule(matmul_relu())
    refuses(sch, "not a complete block", "compute_inline", sch.get_block("C"))
