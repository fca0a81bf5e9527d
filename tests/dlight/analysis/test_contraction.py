from __future__ import annotations

from tests.dlight.programs import conv, matmul, reduction
from tvm.dlight.analysis import find_contraction
from tvm.dlight.analysis.contraction import Contraction
from tvm.tir.schedule import Schedule


def roles(func: object, name: str = "C") -> Contraction | None:
    sch = Schedule(func)
    return find_contraction(sch.get(sch.get_block(name)))


def test_batched_product() -> None:
    found = roles(matmul(4, 5, 6, batch=(2,)))
    assert found is not None
    parts = (found.batch, found.m, found.n, found.k)
    sizes = [[int(iv.dom.extent) for iv in part] for part in parts]
    assert sizes == [[2], [4], [5], [6]]
    assert found.lhs.is_plain()
    assert found.rhs.is_plain()


def test_columns_move_along_memory() -> None:
    found = roles(conv(1, 4, 8, 6))
    assert found is not None
    assert [int(iv.dom.extent) for iv in found.m] == [8]
    assert found.lhs.buffer.name == "W"
    assert not found.rhs.is_plain()


def test_other_reductions() -> None:
    assert roles(reduction((4, 5), (1,)), "B") is None
