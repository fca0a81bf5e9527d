from __future__ import annotations

from tests.dlight.programs import matmul, reduction
from tvm.dlight.analysis import normalize_prim_func
from tvm.dlight.analysis.gemv import get_reduction_expr, is_gemv, normalize
from tvm.tir.schedule import Schedule


def test_vectors_of_a_product() -> None:
    sch = Schedule(matmul(1, 8, 16, transposed=True))
    (info,) = normalize_prim_func(sch)
    assert [buffer.name for buffer in is_gemv(sch, info)] == ["A"]
    assert normalize(sch, info) is True
    assert len(sch.get_loops(info.block_rv)) == 4  # batch, spatial, reducing, packed


def test_sums_are_no_products() -> None:
    sch = Schedule(reduction((8, 8), (1,)))
    (info,) = normalize_prim_func(sch)
    assert is_gemv(sch, info) is None
    assert str(get_reduction_expr(sch.get(info.block_rv))) == "A[v0, v1]"
