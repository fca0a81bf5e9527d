"""Which loops over indices from data go in blocks."""

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.functor import walk
from tvm.tir.transform import CheckIndices

pytestmark = pytest.mark.pure


def loops(func):
    body = CheckIndices()(IRModule({"main": func}))["main"].body
    return [node for node in walk(body) if isinstance(node, s.For)]


def names(func):
    return {loop.loop_var.name for loop in loops(func)}


def test_much_work_for_each_index_leaves_the_loop_whole():
    def rows(width):
        @T.prim_func
        def main(A: T.Buffer((9, width), "float32"), P: T.Buffer((128,), "int64"),
                 B: T.Buffer((128, width), "float32")):  # fmt: skip
            for i in range(128):
                for j in T.vectorized(width):
                    B[i, j] = A[P[i], j]

        return main

    assert "i_block" in names(rows(64))
    assert "i_block" not in names(rows(128))


def test_vectors_of_indices_are_taken_several_at_a_time():
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), P: T.Buffer((128,), "int64"),
             B: T.Buffer((128,), "float32")):  # fmt: skip
        for i in range(16):
            for v in T.vectorized(8):
                B[i * 8 + v] = A[P[i * 8 + v]]

    (outer,) = (loop for loop in loops(main) if loop.loop_var.name == "i_block")
    assert int(outer.extent) == 4


def test_parallel_loops_and_what_changes_on_the_way_stay():
    @T.prim_func
    def parallel(A: T.Buffer((9,), "float32"), P: T.Buffer((128,), "int64"),
                 B: T.Buffer((128,), "float32")):  # fmt: skip
        for i in T.parallel(128):
            B[i] = A[P[i]]

    @T.prim_func
    def changes(A: T.Buffer((9,), "float32"), P: T.Buffer((128,), "int64"),
                B: T.Buffer((128,), "float32")):  # fmt: skip
        for i in range(128):
            P[i] = P[i] + T.int64(1)
            B[i] = A[P[i]]

    for func in (parallel, changes):
        assert "i_block" not in names(func)
