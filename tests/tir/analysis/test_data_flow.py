"""Which values come from data."""

import pytest

from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.analysis.data_flow import DataFlow
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


def answers(func):
    flow = DataFlow(func)
    return {
        node.buffer.name: flow.from_data(node.value)
        for node in walk(func.body)
        if isinstance(node, s.BufferStore)
    }


def test_through_memory_and_names_but_not_through_comparisons():
    @T.prim_func
    def main(P: T.Buffer((9,), "int32"), A: T.Buffer((9,), "float32"),
             B: T.Buffer((9,), "float32"), C: T.Buffer((9,), "int32"),
             D: T.Buffer((9,), "int32"), E: T.Buffer((9,), "int32")):  # fmt: skip
        copy = T.alloc_buffer((9,), "int32")
        count = T.alloc_buffer((1,), "int32")
        count[0] = 0
        for i in range(9):
            copy[i] = P[i]
            if copy[i] > 0:
                count[0] = count[0] + 1
            C[i] = T.Select(copy[i] > 3, 7, count[0])
            D[i] = T.Cast("int32", copy[i] > 3)
            E[i] = copy[i] + i
            B[i] = A[copy[i]]

    found = answers(main)
    assert found == {
        "copy": True, "count": False, "C": False, "D": False, "E": True, "B": True,
    }  # fmt: skip
    assert DataFlow(main).reaches_an_index


def test_loops_over_ranges_from_data():
    @T.prim_func
    def main(P: T.Buffer((9,), "int32"), A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32")):
        for i in range(P[0], P[1]):
            B[0] = i

    assert answers(main) == {"B": True}


def test_functions_without_such_indices():
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
        for i in range(9):
            B[i] = A[8 - i]

    assert not DataFlow(main).reaches_an_index
