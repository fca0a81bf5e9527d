from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tir.schedule.cases import check, matmul, open_schedule, refuses
from tvm import te
from tvm.script import tir as T
from tvm.tir.stmt import ForKind


def test_before_the_sum() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    init = sch.decompose_reduction(block, sch.get_loops(block)[2])
    assert sch.get(init).name_hint == "C_init"
    assert sch.get(block).name_hint == "C_update"
    assert sch.get(block).init is None
    assert "T.reads(C[v_i, v_j], A[v_i, v_k], B[v_k, v_j])" in sch.mod.script()
    check(sch, func)


def test_before_everything() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    sch.decompose_reduction(block, sch.get_loops(block)[0])
    check(sch, func)


def test_vector_loops_of_the_init_stay_vectors() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(i, k, j)
    sch.vectorize(j)
    sch.annotate(j, "mine", 1)
    init = sch.decompose_reduction(block, k)
    copied = sch.get(sch.get_loops(init)[-1])
    assert copied.kind is ForKind.VECTORIZED
    assert not copied.annotations
    check(sch, func)


def test_inside_of_the_sum() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    refuses(sch, "wipe out what was summed", "decompose_reduction", block, i)


def test_loop_of_another_block() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    copy = sch.cache_read(block, 0, "local")
    stranger = sch.get_loops(copy)[0]
    refuses(sch, "is not around block", "decompose_reduction", block, stranger)


def test_reads_of_the_result_are_listed_once() -> None:
    @T.prim_func
    def total(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(B[vi], A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    sch = open_schedule(total)
    sch.decompose_reduction("B", sch.get_loops("B")[0])
    update = sch.get(sch.get_block("B_update"))
    assert [str(read) for read in update.reads] == ["B[vi]", "A[vi, vk]"]


def test_a_buffer_of_the_same_shape_is_another_one() -> None:
    @T.prim_func
    def shifted(A: T.Buffer((4, 8), "float32"), m: T.Buffer((4,), "float32"),
                B: T.Buffer((4,), "float32")):  # fmt: skip
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + (A[vi, vk] - m[vi])

    sch = open_schedule(shifted)
    sch.decompose_reduction("B", sch.get_loops("B")[1])
    update = sch.get(sch.get_block("B_update"))
    assert [str(read) for read in update.reads] == ["B[vi]", "A[vi, vk]", "m[vi]"]


@T.prim_func
def one_sum(A: T.Buffer((2, 1, 7), "float32"), B: T.Buffer((2, 1), "float32")):
    for i, j, k in T.grid(2, 1, 7):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]


def test_where_nothing_is_added_nothing_starts_anew() -> None:
    """No variable names the loops of an element that was divided."""
    sch = open_schedule(one_sum)
    block = sch.get_block("B")
    outer, middle, inner = sch.split(sch.fuse(sch.get_loops(block)[1]), [None, 4, 2])
    sch.reorder(middle, outer, inner)
    sch.decompose_reduction(block, inner)
    assert "T.where(j_fused_1 < 1)" in sch.mod.script()
    check(sch, one_sum)


def test_where_a_sum_of_one_value_runs_once() -> None:
    @T.prim_func
    def of_one(A: T.Buffer((2, 1), "float32"), B: T.Buffer((2,), "float32")):
        for i, k in T.grid(2, 1):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    sch = open_schedule(of_one)
    block = sch.get_block("B")
    _, _, inner = sch.split(sch.fuse(sch.get_loops(block)[1]), [None, 3, 2])
    sch.decompose_reduction(block, inner)
    check(sch, of_one)


def test_loops_of_one_iteration_in_a_predicate_go() -> None:
    sch = open_schedule(one_sum)
    block = sch.get_block("B")
    sch.split(sch.get_loops(block)[0], [None, 2, 2], preserve_unit_iters=False)
    sch.decompose_reduction(block, sch.get_loops(block)[0])
    assert "T.where(i_1_init * 2 + i_2_init < 2)" in sch.mod.script()
    check(sch, one_sum)


@pytest.mark.parametrize("combine", [te.sum, te.max])
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("part", [0, 1])
def test_partial_sums_run_where_there_is_something_to_add(
    combine: Callable, copied: bool, part: int
) -> None:
    """Before, they add what the sum starts from: each of them has a result, in any order."""
    a = te.placeholder((3, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    func = te.create_prim_func([a, te.compute((3,), lambda i: combine(a[i, k], axis=k), name="B")])
    sch = open_schedule(func)
    loops = sch.split(sch.get_loops("B")[1], [None, 8 if part else 2])
    partial = sch.rfactor(loops[part], 0)
    assert "T.if_then_else(" in sch.mod.script()
    check(sch, func)
    if copied:
        sch = sch.copy()
    sch.decompose_reduction(partial, sch.get_loops(partial)[1])
    text = sch.mod.script()
    assert "T.if_then_else(" not in text
    assert "T.where(" in text
    check(sch, func)


@T.prim_func
def written_so(A: T.Buffer((5,), "float32"), B: T.Buffer((), "float32")) -> None:
    for k in range(8):
        with T.block("B"):
            vk = T.axis.reduce(8, k)
            with T.init():
                B[()] = T.float32(0)
            B[()] = B[()] + T.if_then_else(vk < 5, A[vk], T.float32(0))


def test_values_written_with_a_condition_stay() -> None:
    sch = open_schedule(written_so)
    sch.decompose_reduction("B", sch.get_loops("B")[0])
    assert "T.if_then_else(" in sch.mod.script()
    check(sch, written_so)


def test_names_and_conditions_of_the_init() -> None:
    """Variables keep their names, loops end in `_init`, conditions come innermost first."""
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    sch.split(i, [None, 5])
    sch.split(j, [None, 7])
    init = sch.decompose_reduction(block, sch.get_loops(block)[0])
    assert [iv.var.name for iv in sch.get(init).iter_vars] == ["v_i", "v_j"]
    assert [sch.get(loop).loop_var.name for loop in sch.get_loops(init)] == [
        "i_0_init", "i_1_init", "j_0_init", "j_1_init",
    ]  # fmt: skip
    condition = sch.mod.script().split("T.where(")[1].split(")")[0]
    assert condition.startswith("j_0_init * 7 + j_1_init < 12 and i_0_init")
    check(sch, func)
