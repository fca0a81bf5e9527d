from __future__ import annotations

from tests.tir.schedule.cases import chain, matmul, matmul_relu
from tvm import te
from tvm.dlight.analysis import get_root_block, is_broadcast_epilogue, normalize_prim_func
from tvm.tir.schedule import Schedule


def test_kinds_and_extents() -> None:
    (info,) = normalize_prim_func(Schedule(matmul()))
    assert info.dom_kind() == "SSR"
    assert info.dom() == [8, 12, 16]
    assert info.is_reduction()
    assert not info.is_injective()
    assert str(info) == 'BlockInfo("C", "SSR", [8, 12, 16])'


def test_elementwise() -> None:
    sch = Schedule(chain())
    first, *_ = normalize_prim_func(sch)
    assert first.is_elementwise(sch)


def test_bound_otherwise() -> None:
    sch = Schedule(matmul())
    sch.split(sch.get_loops("C")[0], factors=[None, 4])
    assert normalize_prim_func(sch) is None


def test_epilogues() -> None:
    sch = Schedule(matmul_relu())
    assert not is_broadcast_epilogue(sch, sch.get_block("C"), sch.get_block("D"))
    assert sch.get(get_root_block(sch)).name_hint == "root"


def test_epilogues_of_one_element() -> None:
    a = te.placeholder((8, 6), name="A")
    i, j = te.reduce_axis((0, 8)), te.reduce_axis((0, 6))
    total = te.compute((1,), lambda _: te.sum(a[i, j], axis=[i, j]), name="C")
    twice = te.compute((1,), lambda z: total[z] * 2.0, name="D")
    sch = Schedule(te.create_prim_func([a, twice]))
    first, last = normalize_prim_func(sch)
    assert (first.dom_kind(), last.dom_kind()) == ("SRR", "S")
    assert sch.get(first.iters[0].loop_rv).loop_var.dtype == "int64"
    assert is_broadcast_epilogue(sch, first.block_rv, last.block_rv)
