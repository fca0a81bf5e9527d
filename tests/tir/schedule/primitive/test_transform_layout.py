from __future__ import annotations

from tests.tir.schedule.cases import chain, check, open_schedule, refuses
from tvm import tir


def test_tiles() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, j // 4, i % 4, j % 4])
    text = sch.mod.script()
    assert "B = T.alloc_buffer((4, 4, 4, 4))" in text
    assert "B[v_i // 4, v_j // 4, v_i % 4, v_j % 4]" in text
    check(sch, func)


def test_parameter_changes_its_shape() -> None:
    sch = open_schedule(chain())
    sch.transform_layout("B", "A", lambda i, j: [j, i])
    (func,) = sch.mod.functions.values()
    assert "A[v_j, v_i]" in sch.mod.script()
    assert isinstance(func, tir.PrimFunc)


def test_index_map_and_separators() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.transform_layout("C", "C", lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j])
    buffer = sch.get(sch.get_block("C")).writes[0].buffer
    assert [int(s) for s in buffer.axis_separators] == [1]


def test_two_elements_at_one_place() -> None:
    sch = open_schedule(chain())
    block = sch.get_block("B")
    refuses(sch, "is not injective", "transform_layout", block, ("write", 0), lambda i, j: [i])
