from __future__ import annotations

import pytest

from tests.tir.schedule.cases import (
    check,
    check_native,
    elementwise,
    matmul,
    open_schedule,
    refuses,
    stencil,
)
from tvm.script import tir as T
from tvm.tir.stmt import ForKind


@pytest.mark.parametrize(
    ("primitive", "kind"),
    [
        ("parallel", ForKind.PARALLEL),
        ("vectorize", ForKind.VECTORIZED),
        ("unroll", ForKind.UNROLLED),
    ],
)
def test_kind(primitive: str, kind: ForKind) -> None:
    func = elementwise(4, 8)
    sch = open_schedule(func)
    _, j = sch.get_loops("B")
    getattr(sch, primitive)(j)
    assert sch.get(j).kind is kind
    check(sch, func)


def test_bind() -> None:
    sch = open_schedule(elementwise(4, 8))
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    assert sch.get(j).thread_binding.thread_tag == "threadIdx.x"
    assert 'T.thread_binding(8, thread="threadIdx.x")' in sch.mod.script()


@pytest.mark.parametrize("primitive", ["parallel", "vectorize"])
def test_sums_are_not_spread(primitive: str) -> None:
    sch = open_schedule(matmul())
    k = sch.get_loops("C")[2]
    refuses(sch, "two iterations would update the same element", primitive, k)


def test_sums_over_the_threads_of_a_block() -> None:
    sch = open_schedule(matmul())
    k = sch.get_loops("C")[2]
    refuses(sch, "not data parallel", "bind", k, "blockIdx.x")
    sch.bind(k, "threadIdx.x")
    assert sch.get(k).kind is ForKind.THREAD_BINDING


def test_unrolled_sums_are_fine() -> None:
    func = matmul()
    sch = open_schedule(func)
    sch.unroll(sch.get_loops("C")[2])
    check(sch, func)


def test_the_init_of_a_decomposed_sum() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    init = sch.decompose_reduction(block, sch.get_loops(block)[2])
    i, _ = sch.get_loops(init)
    refuses(sch, "neither a complete block", "parallel", i)  # both blocks are within


def test_vectorized_init() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    i, _, _ = sch.get_loops(block)
    init = sch.decompose_reduction(block, i)
    sch.vectorize(sch.get_loops(init)[1])
    sch.parallel(sch.get_loops(init)[0])
    refuses(sch, "neither a complete block", "vectorize", sch.get_loops(block)[1])
    check(sch, func)


@pytest.mark.cpu
def test_iterations_that_compute_the_same_again() -> None:
    func = stencil()
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("C")[0], factors=[None, 4])
    sch.compute_at("B", outer)  # two elements of B in each iteration are those of the next, too
    sch.parallel(outer)
    check(sch, func)
    check_native(sch, func)


def test_beside_statements_that_are_no_blocks() -> None:
    """Branches, asserts and stores between the loops do not stand in the way."""

    @T.prim_func
    def before(A: T.Buffer((8, 4), "float32"), n: T.int32, B: T.Buffer((8, 4), "float32")):
        for i in range(8):
            assert n > 0, "no rows"
            if i < n:
                for j in range(4):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = A[vi, vj]

    sch = open_schedule(before)
    i, j = sch.get_loops("B")
    sch.parallel(i)
    sch.vectorize(j)
    text = sch.mod.script()
    assert "for i in T.parallel(8)" in text
    assert "for j in T.vectorized(4)" in text
    assert "if i < n" in text
