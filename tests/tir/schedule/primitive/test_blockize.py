from __future__ import annotations

from tests.tir.schedule.cases import (
    chain,
    check,
    elementwise,
    matmul,
    open_schedule,
    refuses,
)


def test_inner_loop() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    _, j = sch.get_loops("B")
    block = sch.blockize(j)
    assert sch.get(block).name_hint == "B_o"
    text = sch.mod.script()
    assert "T.reads(A[v_i0, 0:16])" in text
    assert "v_i1_o = T.axis.spatial(1, 0)" in text
    check(sch, func)


def test_tile() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    i, j = sch.get_loops("B")
    (io, ii), (jo, ji) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    sch.reorder(io, jo, ii, ji)
    sch.blockize(ii)
    assert "B[v_i0_o * 4 + v_i0_i, v_i1_o * 4 + v_i1_i]" in sch.mod.script()
    sch.parallel(io)
    check(sch, func)


def test_init_goes_to_the_outer_block() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, j, k = sch.get_loops("C")
    (io, ii), (jo, ji) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    ko, ki = sch.split(k, factors=[None, 4])
    sch.reorder(io, jo, ko, ii, ji, ki)
    outer = sch.blockize(ii)
    assert sch.get(outer).init is not None
    assert sch.get(sch.get_block("C")).init is None
    assert 'with T.block("C_init"):' in sch.mod.script()
    check(sch, func)
    sch.decompose_reduction(outer, ko)
    check(sch, func)


def test_without_unit_variables() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    _, j = sch.get_loops("B")
    sch.blockize(j, preserve_unit_iters=False)
    assert "v_i1_o" not in sch.mod.script()
    check(sch, func)


def test_several_blocks() -> None:
    sch = open_schedule(chain())
    i, _ = sch.get_loops("C")
    sch.compute_at("B", i)
    refuses(sch, "holds 2 blocks", "blockize", i)
