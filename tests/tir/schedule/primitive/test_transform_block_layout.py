from __future__ import annotations

import re

from tests.tir.schedule.cases import check, elementwise, matmul, open_schedule, refuses
from tvm import te, tir
from tvm.ir import assert_structural_equal
from tvm.script import tir as T
from tvm.tir import IntImm
from tvm.tir.schedule import Schedule


def test_fuse_variables() -> None:
    func = elementwise(4, 6)
    sch = open_schedule(func)
    sch.transform_block_layout("B", lambda i, j: [i * 6 + j])
    assert "B[v0 // 6, v0 % 6] = A[v0 // 6, v0 % 6] + T.float32(1.0)" in sch.mod.script()
    check(sch, func)


def test_split_and_permute() -> None:
    func = matmul()
    sch = open_schedule(func)
    sch.transform_block_layout("C", lambda i, j, k: [k // 4, j, i, k % 4])
    check(sch, func)


def test_kinds_do_not_mix() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    refuses(
        sch, "joins variables of different kinds", "transform_block_layout", block,
        lambda i, j, k: [i, j * 16 + k],
    )


def test_lost_variables() -> None:
    sch = open_schedule(elementwise(4, 6))
    block = sch.get_block("B")
    refuses(sch, "is no bijection", "transform_block_layout", block, lambda i, j: [i])


def test_variables_of_one_value_stay_in_indices() -> None:
    @T.prim_func
    def before(A: T.Buffer((1, 24), "float32"), B: T.Buffer((1, 24), "float32")):
        for i, j in T.grid(1, 24):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    @T.prim_func
    def expected(A: T.Buffer((1, 24), "float32"), B: T.Buffer((1, 24), "float32")):
        for ax0, ax1 in T.grid(24, 1):
            with T.block("B"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B[v1, v0] = A[v1, v0]

    sch = Schedule(before)
    sch.transform_block_layout("B", lambda i, j: (j, i))
    assert_structural_equal(sch.mod["main"], expected.with_attr("global_symbol", "before"))


def test_values_that_are_not_met_get_no_loop() -> None:
    func = elementwise(3)
    sch = open_schedule(func)
    sch.transform_block_layout("B", lambda i: (i // 4, i % 4))
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("B")] == [1, 3]
    check(sch, func)


def test_a_literal_keeps_its_type() -> None:
    func = elementwise(8)
    sch = open_schedule(func)
    sch.transform_block_layout("B", lambda i: (IntImm("int64", 0), i))
    unit, plain = [sch.get(loop) for loop in sch.get_loops("B")]
    assert (unit.loop_var.dtype, plain.loop_var.dtype) == ("int64", "int32")
    check(sch, func)


def test_loops_over_a_part_of_the_domain() -> None:
    sch = open_schedule(elementwise(8))
    sch.loop_partition(sch.get_loops("B")[0], [2, None])
    block = sch.get_block("B_i01")
    refuses(
        sch, "does not run for all values", "transform_block_layout", block,
        lambda i: (i // 4, i % 4),
    )  # fmt: skip


def test_comparisons_of_what_may_be_no_number_stay() -> None:
    """`not x <= y` holds where one is NaN, `y < x` does not."""

    @T.prim_func
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "int32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = T.Select(A[v, w] == A[v, w] and not A[v, w] <= A[v, 0], v, w)

    wanted = r"\(A\[.*\] == A\[.*\] and not A\[.*\] <= A\[.*\],"
    sch = open_schedule(before)
    sch.transform_block_layout("B", lambda i, j: [i * 8 + j])
    assert re.search(wanted, sch.mod.script())
    sch = open_schedule(before)
    sch.blockize(sch.get_loops("B")[1])
    assert re.search(wanted, sch.mod.script())


def test_places_are_iteration_maps() -> None:
    """Where all indices of an access are one, a condition that holds there told; others stay."""

    @T.prim_func
    def before(A: T.Buffer((16, 16), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[7 - v, w] = T.if_then_else(1 <= v, A[v - 1, w % 8], A[v - 4, v * 2])

    @T.prim_func
    def expected(A: T.Buffer((16, 16), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v * -1 + 7, w] = T.if_then_else(1 <= v, A[v - 1, w], A[v - 4, v * 2])

    sch = open_schedule(before)
    sch.transform_block_layout("B", lambda i, j: (i, j))
    after, wanted = (s.get(s.get_block("B")).body for s in (sch, Schedule(expected)))
    assert str(after).replace("v0", "v").replace("v1", "w") == str(wanted)


def test_a_symbolic_remainder_below_its_symbol() -> None:
    n = tir.Var("n", "int32")
    a = te.placeholder((1, n, 8), name="A")
    b = te.compute((n, 8), lambda i, j: a[0, i % n, j], name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    sch.transform_block_layout("B", lambda i, j: (i, j))
    assert "B[v0, v1] = A[0, v0, v1]" in sch.mod.script()
