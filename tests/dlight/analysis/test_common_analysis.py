from __future__ import annotations

from tests.tir.schedule.cases import chain, matmul, matmul_relu
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
