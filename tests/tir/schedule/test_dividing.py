from __future__ import annotations

import pytest

import tvm
from tests.tir.schedule.cases import elementwise, row_sum
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.analysis.query import loops_above, realize_of
from tvm.tir.schedule.dividing import Divided, OuterPart, divided, outer_regions
from tvm.tir.schedule.error import Illegal


def parts(sch: Schedule, block: str, depth: int, keep: bool = True) -> Divided:
    place = sch.get_sref(sch.get_block(block))
    above = loops_above(place)
    return divided(realize_of(sch.state, place), above, above[depth:], keep)


def test_a_split_variable() -> None:
    sch = Schedule(elementwise(16, 4))
    sch.split(sch.get_loops("B")[0], factors=[None, 4])
    made = parts(sch, "B", 1)
    assert [iv.var.name for iv in made.outer_iters] == ["v_i0_o", "v_i1_o"]
    assert [int(iv.dom.extent) for iv in made.outer_iters] == [4, 1]
    assert [int(iv.dom.extent) for iv in made.inner_iters] == [4, 4]
    reads, writes = outer_regions(made)
    assert str(writes[0]) == "B[v_i0_o * 4:v_i0_o * 4 + 4, 0:4]"
    assert str(reads[0]) == "A[v_i0_o * 4:v_i0_o * 4 + 4, 0:4]"
    assert [str(v) for v in made.outer_values] == ["i0_0", "0"]


def test_a_unit_loop_is_named_or_not() -> None:
    sch = Schedule(elementwise(8))
    sch.split(sch.get_loops("B")[0], factors=[1, 8])
    assert [str(v) for v in parts(sch, "B", 1).outer_values] == ["i0_0"]
    assert [str(v) for v in parts(sch, "B", 1, keep=False).outer_values] == ["0"]


def test_a_unit_loop_beside_another_of_the_same_stride() -> None:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        for k, unit, i in T.grid(4, 1, 16):
            with T.block("B"):
                vi = T.axis.spatial(64, k * 16 + unit * 16 + i)
                A[vi] = T.float32(1)

    made = parts(Schedule(main), "B", 2)
    assert [int(iv.dom.extent) for iv in made.outer_iters] == [4]
    assert [int(iv.dom.extent) for iv in made.inner_iters] == [16]
    assert str(made.outer_values[0]) == "k + unit"  # loops of one iteration stay


def test_a_mixed_variable() -> None:
    sch = Schedule(elementwise(16))
    outer, inner = sch.split(sch.get_loops("B")[0], factors=[None, 4])
    sch.reorder(inner, outer)
    with pytest.raises(Illegal, match="cannot be divided into parts"):
        parts(sch, "B", 1)


def test_reductions_stay_whole() -> None:
    sch = Schedule(row_sum())
    inside = OuterPart().share(parts(sch, "B", 1))
    assert isinstance(inside.inner.init, tir.BufferStore)
    sch.split(sch.get_loops("B")[1], factors=[None, 4])
    with pytest.raises(Illegal, match="reduces over loops outside of the new block"):
        OuterPart().share(parts(sch, "B", 2))


def test_an_inner_part_begins_where_the_old_variable_did() -> None:
    @T.prim_func
    def steps(A: T.Buffer((4, 8), "float32")):
        for i, k in T.grid(4, 7):
            with T.block("step"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.opaque((1, 8), k + 1)
                A[vi, vk] = A[vi, vk] + T.float32(1)

    sch = tvm.tir.Schedule(steps)
    _, k = sch.get_loops(sch.get_block("step"))
    sch.blockize(k)
    (inner,) = [iv for iv in sch.get(sch.get_block("step")).iter_vars if iv.var.name == "vk_i"]
    assert (inner.dom.min, inner.dom.extent) == (1, 7)
