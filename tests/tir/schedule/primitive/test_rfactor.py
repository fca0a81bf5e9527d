from __future__ import annotations

import pytest

from tests.tir.schedule.cases import (
    check,
    greatest_pairs,
    inputs,
    matmul,
    open_schedule,
    refuses,
    row_sum,
)
from tvm import te
from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.stmt import ForKind


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_partial_sums(axis: int) -> None:
    func = row_sum()
    sch = open_schedule(func)
    _, inner = sch.split(sch.get_loops("B")[1], factors=[None, 8])
    block = sch.get_block("B")
    partial = sch.rfactor(inner, axis)
    assert sch.get(partial).name_hint == "B_rf"
    assert sch.get(block).name_hint == "B"
    shape = [int(d) for d in sch.get(partial).writes[0].buffer.shape]
    assert shape == ([8, 6] if axis == 0 else [6, 8])
    check(sch, func)


def test_uneven_parts_add_nothing() -> None:
    func = row_sum(3, 10)
    sch = open_schedule(func)
    _, inner = sch.split(sch.get_loops("B")[1], factors=[None, 4])
    sch.rfactor(inner, 0)
    assert "T.if_then_else(vk_0 * 4 + vk_1 < 10, A[v_i, vk_0 * 4 + vk_1], T.float32(0.0))" in (
        sch.mod.script()
    )
    check(sch, func)


def test_maxima() -> None:
    a = te.placeholder((4, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    func = te.create_prim_func(
        [a, te.compute((4,), lambda i: te.max(a[i, k], axis=k), name="B")]
    )
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("B")[1], factors=[4, None])
    sch.rfactor(outer, 0)
    check(sch, func)


def test_only_loops_of_the_sum() -> None:
    sch = open_schedule(matmul())
    refuses(sch, "no loop of the reduction only", "rfactor", sch.get_loops("C")[0], 0)


def test_axis_out_of_range() -> None:
    sch = open_schedule(row_sum())
    refuses(sch, "factor axis 3 is out of range", "rfactor", sch.get_loops("B")[1], 3)


def test_loops_of_places_and_steps() -> None:
    sch = open_schedule(matmul())
    _, j, k = sch.get_loops("C")
    outer, inner = sch.split(k, factors=[None, 4])
    sch.fuse(j, outer)
    refuses(sch, "make up both indices and steps", "rfactor", inner, 0)


@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("factor_axis", [0, 1])
def test_pairs(least: bool, tie: bool, factor_axis: int) -> None:
    func = greatest_pairs(least=least, tie=tie)
    sch = open_schedule(func)
    _, k = sch.get_loops("best")
    _, inner = sch.split(k, factors=[4, 8])
    block = sch.rfactor(inner, factor_axis)
    assert [w.buffer.name for w in sch.get(block).writes] == ["best_v0_rf", "best_v1_rf"]
    assert "v_best_v0_rf: T.int32" in sch.mod.script()
    check(sch, func)
    arrays = inputs(func)
    run(sch.mod, *arrays)
    data = arrays[1]
    where = data.argmin(1) if least else data.argmax(1)
    assert (arrays[3] == data[range(6), where]).all()
    assert (arrays[2] == arrays[0][range(6), where]).all()


def test_sums_in_different_layouts() -> None:
    @T.prim_func
    def moments(
        A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")
    ) -> None:
        S = T.alloc_buffer((4,))
        Q = T.alloc_buffer((4,))
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                    Q[vi] = T.float32(0)
                s: T.float32 = S[vi] + A[vi, vk]
                q: T.float32 = Q[vi] + A[vi, vk] * A[vi, vk]
                S[vi] = s
                Q[vi] = q
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = Q[vi] - S[vi] * S[vi]

    sch = open_schedule(moments)
    sch.transform_layout("B", ("write", 0), lambda i: (i // 2, i % 2))
    sch.rfactor(sch.get_loops("B")[1], 0)
    check(sch, moments)


def test_indices_of_fused_loops_stay_as_they_were_split() -> None:
    @T.prim_func
    def norm(A: T.Buffer((4, 256, 256), "float32"), C: T.Buffer((4,), "float32")):
        for b, i, j in T.grid(4, 256, 256):
            with T.block("C"):
                v_b, v_i, v_j = T.axis.remap("SRR", [b, i, j])
                with T.init():
                    C[v_b] = T.float32(0)
                C[v_b] = C[v_b] + A[v_b, v_i, v_j] * A[v_b, v_i, v_j]

    sch = open_schedule(norm)
    _, i, j = sch.get_loops("C")
    outer, _ = sch.split(sch.fuse(i, j), factors=[None, 2])
    sch.rfactor(outer, factor_axis=1)
    text = sch.mod.script()
    flat = "vi_j_fused_0 * 2 + vi_j_fused_1"
    assert f"T.reads(A[v_b, ({flat}) // 256, ({flat}) % 256])" in text


def test_partial_results_without_a_sum_are_plain() -> None:
    @T.prim_func
    def total(P: T.Buffer((24,), "float32"), R: T.Buffer((), "float32")):
        for u, k in T.grid(1, 24):
            with T.block("s"):
                vk = T.axis.reduce(24, k)
                with T.init():
                    R[()] = T.float32(0)
                R[()] = R[()] + P[vk]

    sch = open_schedule(total)
    sch.rfactor(sch.get_loops("s")[1], 0)
    partial = sch.get(sch.get_block("s_rf"))
    assert partial.init is None
    assert "R_rf[vk] = P[vk]" in sch.mod.script()
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("s")] == [1, 24]
    check(sch, total)


def test_other_nests_in_the_outer_loop() -> None:
    @T.prim_func
    def rows(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((4,))
        for i in range(4):
            for k in range(8):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi] * T.float32(2)

    sch = open_schedule(rows)
    sch.rfactor(sch.get_loops("B")[1], 0)
    (outer,) = [loop for loop in sch.get_loops("C")]
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(outer)] == ["B_rf", "B", "C"]
    check(sch, rows)


def test_what_is_refused() -> None:
    sch = open_schedule(matmul())
    _, _, k = sch.get_loops("C")
    sch.unroll(k)
    refuses(sch, "is of kind unroll", "rfactor", k, 0)


def test_other_loops_keep_their_kinds_and_all_keep_annotations() -> None:
    sch = open_schedule(matmul())
    i, j, k = sch.get_loops("C")
    sch.parallel(i)
    sch.annotate(j, "mine", 1)
    sch.annotate(k, "mine", 2)
    sch.rfactor(k, 0)
    for block in ("C_rf", "C"):
        loops = [sch.get(loop) for loop in sch.get_loops(block)]
        assert [loop.kind for loop in loops] == [ForKind.PARALLEL, ForKind.SERIAL, ForKind.SERIAL]
        assert [dict(loop.annotations) for loop in loops] == [{}, {"mine": 1}, {"mine": 2}]
    check(sch, matmul())


def test_a_loop_of_one_iteration_is_one_partial_sum() -> None:
    a = te.placeholder((5, 24), name="A")
    k = te.reduce_axis((0, 24), name="k")
    func = te.create_prim_func(
        [a, te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")]
    )
    sch = open_schedule(func)
    unit = sch.add_unit_loop(sch.get_block("B"))
    sch.rfactor(unit, 0)
    assert "B_rf = T.alloc_buffer((1, 5))" in sch.mod.script()
    check(sch, func)
    sch = open_schedule(func)
    row, _ = sch.get_loops("B")
    refuses(sch, "no loop of the reduction only", "rfactor", row, 0)


@pytest.mark.parametrize("divided", [0, 1])
def test_a_loop_of_one_iteration_in_the_predicate(divided: int) -> None:
    @T.prim_func
    def total(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2,), "float32")):
        for i, k in T.grid(2, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    sch = open_schedule(total)
    block = sch.get_block("B")
    loops = sch.get_loops(block)
    _, middle, _ = sch.split(loops[divided], [None, 3, 2], preserve_unit_iters=False)
    sch.rfactor(middle if divided == 1 else loops[1], 0)
    check(sch, total)
