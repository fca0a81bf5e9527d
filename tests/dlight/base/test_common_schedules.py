from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul_relu
from tvm.dlight import normalize_prim_func, try_inline, try_inline_contiguous_spatial
from tvm.tir.schedule import Schedule


def test_inline_all() -> None:
    func = chain()
    sch = Schedule(func)
    rest = try_inline(sch, normalize_prim_func(sch))
    assert [block.name for block in rest] == ["D"]
    check(sch, func)


def test_reductions_stay() -> None:
    func = matmul_relu()
    sch = Schedule(func)
    rest = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
    assert [block.name for block in rest] == ["C", "D"]
