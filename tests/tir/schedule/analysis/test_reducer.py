from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, matmul
from tvm import te
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.analysis.reducer import reducer_of
from tvm.tir.schedule.error import Illegal


@pytest.mark.parametrize(("combine", "identity"), [(te.sum, 0.0), (te.max, -3.4028234663852886e38)])
def test_operator_and_identity(combine: object, identity: float) -> None:
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    func = te.create_prim_func([a, te.compute((4,), lambda i: combine(a[i, k], axis=k), name="B")])
    sch = Schedule(func)
    found = reducer_of(sch.get(sch.get_block("B")))
    assert found.identity.value == identity
    assert str(found.part) == "A[v_i, v_k]"


def test_products_of_two_operands() -> None:
    sch = Schedule(matmul())
    assert str(reducer_of(sch.get(sch.get_block("C"))).part) == "A[v_i, v_k] * B[v_k, v_j]"


def test_no_reduction() -> None:
    sch = Schedule(chain())
    with pytest.raises(Illegal, match="not known to be commutative"):
        reducer_of(sch.get(sch.get_block("B")))
