"""Primitives that only ask."""

from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, matmul_relu, open_schedule, refuses
from tvm.script import tir as T
from tvm.tir.schedule import LoopRV, Schedule


def names(sch: Schedule, blocks: list) -> list[str]:
    return [sch.get(block).name_hint for block in blocks]


def test_neighbours() -> None:
    sch = open_schedule(chain())
    assert names(sch, sch.get_producers("C")) == ["B"]
    assert names(sch, sch.get_consumers("C")) == ["D"]
    assert names(sch, sch.get_output_blocks("root")) == ["D"]
    assert names(sch, sch.get_child_blocks(sch.get_block("root"))) == ["B", "C", "D"]
    assert names(sch, sch.get_child_blocks(sch.get_loops("B")[0])) == ["B"]


def test_loops() -> None:
    sch = open_schedule(matmul_relu())
    loops = sch.get_loops("C")
    assert all(isinstance(loop, LoopRV) for loop in loops)
    assert [sch.get(loop).loop_var.name for loop in loops] == ["i", "j", "k"]


def test_unknown_names() -> None:
    sch = open_schedule(chain())
    message = refuses(sch, "Cannot find a block with the name: E", "get_block", "E")
    assert "legal: one of ['root', 'B', 'C', 'D']" in message
    refuses(sch, "no TIR function 'mian'", "get_block", "B", "mian")


def test_wrong_kinds_of_variables() -> None:
    sch = open_schedule(chain())
    with pytest.raises(TypeError, match="type of `block` does not match"):
        sch.get_loops(sch.get_loops("B")[0])
    with pytest.raises(TypeError, match="type of `loop` does not match"):
        sch.parallel(sch.get_block("B"))


def test_outputs_of_nested_blocks() -> None:
    @T.prim_func
    def nested(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.block("outer"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi, 0:4])
                T.writes(B[vi, 0:4])
                C = T.alloc_buffer((4,))
                for j in range(4):
                    with T.block("hidden"):
                        vj = T.axis.spatial(4, j)
                        C[vj] = A[vi, vj]
                for j in range(4):
                    with T.block("inner"):
                        vj = T.axis.spatial(4, j)
                        B[vi, vj] = C[vj]

    sch = open_schedule(nested)
    found = [sch.get(b).name_hint for b in sch.get_output_blocks("root")]
    assert found == ["outer", "inner"]
