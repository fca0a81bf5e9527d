from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.tir.schedule.cases import chain, check, matmul_relu, open_schedule, refuses, stencil
from tvm import tir
from tvm.script import tir as T


def test_inline_chain() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.compute_inline("B")
    sch.compute_inline("C")
    text = sch.mod.script()
    assert "alloc_buffer" not in text
    assert "T.reads(A[v_i, v_j])" in text
    check(sch, func)


def test_inline_into_a_stencil() -> None:
    func = stencil()
    sch = open_schedule(func)
    sch.compute_inline("B")
    assert "T.reads(A[v_i:v_i + 3])" in sch.mod.script()
    check(sch, func)


def test_outputs_are_not_inlined() -> None:
    sch = open_schedule(chain())
    refuses(sch, "an output of its scope", "compute_inline", sch.get_block("D"))


def test_reductions_are_not_inlined() -> None:
    sch = open_schedule(matmul_relu())
    refuses(sch, "not a complete block", "compute_inline", sch.get_block("C"))


def test_memory_that_is_used_otherwise() -> None:
    @T.prim_func
    def before(P: T.Buffer((24,), "float32"), R: T.Buffer((24,), "float32")):
        Q = T.alloc_buffer((24,))
        for i in range(24):
            with T.block("q"):
                vi = T.axis.spatial(24, i)
                Q[vi] = P[vi]
        for i in range(24):
            with T.block("r"):
                vi = T.axis.spatial(24, i)
                R[vi] = Q[vi]
        with T.block("opaque"):
            T.evaluate(T.call_extern("int32", "use", Q.access_ptr("r", extent=1)))

    sch = open_schedule(before)
    refuses(sch, "has opaque access", "compute_inline", sch.get_block("q"))


def test_stores_at_an_invertible_map() -> None:
    @T.prim_func
    def before(P: T.Buffer((6, 8), "float32"), O: T.Buffer((48,), "float32")):
        Q = T.alloc_buffer((2, 24))
        for i, j in T.grid(6, 8):
            with T.block("q"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[(vi * 8 + vj) // 24, (vi * 8 + vj) % 24] = P[vi, vj] + T.float32(1)
        for i in range(48):
            with T.block("r"):
                vi = T.axis.spatial(48, i)
                O[vi] = Q[vi // 24, vi % 24]

    sch = open_schedule(before)
    sch.compute_inline("q")
    assert "O[vi] = P[" in sch.mod.script()
    check(sch, before)


def test_stores_at_no_invertible_map() -> None:
    @T.prim_func
    def before(P: T.Buffer((6, 8), "float32"), O: T.Buffer((28,), "float32")):
        Q = T.alloc_buffer((28,))
        for i, j in T.grid(6, 8):
            with T.block("q"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[vi * 4 + vj] = P[vi, vj]
        for i in range(28):
            with T.block("r"):
                vi = T.axis.spatial(28, i)
                O[vi] = Q[vi]

    sch = open_schedule(before)
    block = sch.get_block("q")
    refuses(sch, "whose indices are different block variables", "compute_inline", block)


def test_a_variable_of_one_value_is_the_index_in_its_place() -> None:
    @T.prim_func
    def before(P: T.Buffer((1, 8), "float32"), O: T.Buffer((1, 8), "float32")):
        Q = T.alloc_buffer((1, 8))
        for i, j in T.grid(1, 8):
            with T.block("q"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[0, vj] = P[vi, vj]
        for i, j in T.grid(1, 8):
            with T.block("r"):
                vi, vj = T.axis.remap("SS", [i, j])
                O[vi, vj] = Q[vi, vj]

    sch = open_schedule(before)
    sch.compute_inline("q")
    assert "O[vi, vj] = P[vi, vj]" in sch.mod.script()
    check(sch, before)


@pytest.mark.parametrize(
    ("primitive", "left"),
    [
        (lambda sch: sch.compute_inline("a"), ["b", "c"]),
        (lambda sch: sch.reverse_compute_inline("c"), ["a", "b"]),
        (lambda sch: sch.compute_at("a", sch.get_loops("b")[0]), ["a", "b", "c"]),
        (lambda sch: sch.reverse_compute_at("c", sch.get_loops("b")[0]), ["a", "b", "c"]),
    ],
)
def test_blocks_among_constants_leave_their_place(primitive: Any, left: list[str]) -> None:
    @T.prim_func
    def before(B: T.Buffer((4,)), C: T.Buffer((4,))):
        K_data = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
        K = T.decl_buffer((4,), data=K_data)
        D = T.alloc_buffer((4,))
        E = T.alloc_buffer((4,))
        for i in range(4):
            with T.block("a"):
                vi = T.axis.spatial(4, i)
                D[vi] = K[vi] + T.float32(1)
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                E[vi] = D[vi] + B[vi]
        for i in range(4):
            with T.block("c"):
                vi = T.axis.spatial(4, i)
                C[vi] = E[vi] * K[vi]

    sch = open_schedule(before)
    primitive(sch)
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))] == left
    assert isinstance(sch.get(sch.get_block("root")).body, tir.AllocateConst)
    check(sch, before)


def test_an_index_that_is_read_within_other_blocks_is_inlined() -> None:
    @T.prim_func
    def halves(A: T.Buffer((8,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("B"):
                v = T.axis.spatial(16, i)
                B[v] = A[v // 2] + T.float32(1)

    sch = tir.Schedule(halves)
    outer = sch.blockize([sch.get_block("B")], preserve_unit_iters=True)
    index = sch.cache_index(outer, "global", 0)[0]  # no list of reads names it
    sch.compute_inline(index)
    (func,) = sch.mod.functions.values()
    a = np.arange(8, dtype="float32")
    found = np.zeros(16, "float32")
    tvm.tir.interp.run(tvm.IRModule({"main": func}), a, found)
    np.testing.assert_array_equal(found, np.repeat(a, 2) + 1)


def test_inlines_into_indices_of_another_integer_type() -> None:
    """The producer counts in 64 bits, its reader in 32."""

    @T.prim_func
    def before(A: T.Buffer((T.int64(8),), "float32"), C: T.Buffer((8,), "float32")) -> None:
        B = T.alloc_buffer((T.int64(8),), "float32")
        for i in range(T.int64(8)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(8), i)
                B[vi] = T.if_then_else(T.int64(2) <= vi, A[vi], T.float32(0))
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] + T.float32(1)

    sch = open_schedule(before)
    sch.compute_inline("B")
    assert 'A[T.Cast("int64", vi)]' in sch.mod.script()
    check(sch, before)
