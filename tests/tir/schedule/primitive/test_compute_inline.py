from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul_relu, open_schedule, refuses, stencil
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
