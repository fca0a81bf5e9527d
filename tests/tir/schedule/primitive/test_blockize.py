from __future__ import annotations

from tests.dlight.programs import softmax
from tests.tir.schedule.cases import (
    chain,
    check,
    elementwise,
    matmul,
    open_schedule,
    refuses,
)
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol


def test_inner_loop() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    _, j = sch.get_loops("B")
    block = sch.blockize(j)
    assert sch.get(block).name_hint == "B_o"
    text = sch.mod.script()
    assert "T.reads(A[v_i0_o, 0:16])" in text
    assert "v_i1_o = T.axis.spatial(1, 0)" in text
    check(sch, func)


def test_tile() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    i, j = sch.get_loops("B")
    (io, ii), (jo, ji) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    sch.reorder(io, jo, ii, ji)
    sch.blockize(ii)
    assert "B[v_i0_o * 4 + v_i0_i, v_i1_o * 4 + v_i1_i]" in sch.mod.script()
    sch.parallel(io)
    check(sch, func)


def test_init_goes_to_the_outer_block() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, j, k = sch.get_loops("C")
    (io, ii), (jo, ji) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    ko, ki = sch.split(k, factors=[None, 4])
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.annotate(ii, "mine", 1)
    outer = sch.blockize(ii)
    first = sch.get(outer).init
    assert first.annotations["mine"] == 1
    assert sch.get(sch.get_block("C")).init is None
    assert 'with T.block("C_init"):' in sch.mod.script()
    check(sch, func)
    sch.decompose_reduction(outer, ko)
    check(sch, func)


def test_loops_of_unit_variables() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    _, j = sch.get_loops("B")
    sch.blockize(j, preserve_unit_iters=False)
    assert "v_i1_o = T.axis.spatial(1, 0)" in sch.mod.script()
    check(sch, func)


def test_a_loop_around_two_blocks() -> None:
    sch = open_schedule(chain())
    i, _ = sch.get_loops("C")
    sch.compute_at("B", i)
    refuses(sch, "holds 2 blocks", "blockize", i)


@T.prim_func
def two_rows(A: T.Buffer((6, 3, 4), "float32"), C: T.Buffer((6, 3, 4), "float32")) -> None:
    B = T.alloc_buffer((6, 3, 4))
    for m in range(6):
        for i, j in T.grid(3, 4):
            with T.block("B"):
                vm, vi, vj = T.axis.remap("SSS", [m, i, j])
                B[vm, vi, vj] = A[vm, vi, vj] * T.float32(2)
        for i, j in T.grid(3, 4):
            with T.block("C"):
                vm, vi, vj = T.axis.remap("SSS", [m, i, j])
                C[vm, vi, vj] = B[vm, vi, vj] + T.float32(1)


@T.prim_func
def two_rows_in_a_block(
    A: T.Buffer((6, 3, 4), "float32"), C: T.Buffer((6, 3, 4), "float32")
) -> None:
    B = T.alloc_buffer((6, 3, 4))
    for m in range(6):
        with T.block("outer_B_C_"):
            vm = T.axis.spatial(6, m)
            vi_o = T.axis.spatial(1, 0)
            vj_o = T.axis.spatial(1, 0)
            T.reads(B[vm, 0:3, 0:4], A[vm, 0:3, 0:4])
            T.writes(C[vm, 0:3, 0:4], B[vm, 0:3, 0:4])
            for i, j in T.grid(3, 4):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vm, vi, vj] = A[vm, vi, vj] * T.float32(2)
            for i, j in T.grid(3, 4):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vm, vi, vj] = B[vm, vi, vj] + T.float32(1)


def test_several_blocks() -> None:
    sch = open_schedule(two_rows)
    block = sch.blockize([sch.get_block("B"), sch.get_block("C")], preserve_unit_iters=False)
    assert sch.get(block).name_hint == "outer_B_C_"
    assert_structural_equal_ignore_global_symbol(sch.mod["main"], two_rows_in_a_block)
    assert "sch.blockize(target=[b0, b1], preserve_unit_iters=False)" in str(sch.trace)
    check(sch, two_rows)
    sch.reorder(*reversed(sch.get_loops("B")))
    check(sch, two_rows)


def test_several_blocks_with_unit_variables() -> None:
    sch = open_schedule(two_rows)
    block = sch.blockize([sch.get_block("B"), sch.get_block("C")])
    assert [str(iv.dom.extent) for iv in sch.get(block).iter_vars] == ["6", "1", "1"]
    check(sch, two_rows)


def test_several_reductions() -> None:
    func = softmax(3, 8)
    sch = open_schedule(func)
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    sch.blockize([sch.get_block(name) for name in names])
    check(sch, func)


def test_blocks_that_are_apart() -> None:
    sch = open_schedule(chain())
    refuses(
        sch, "the blocks ['B', 'D'] do not stand one after the other", "blockize",
        [sch.get_block("B"), sch.get_block("D")],
    )  # fmt: skip
    b, c = sch.get_block("B"), sch.get_block("C")
    refuses(sch, "do not stand one after the other", "blockize", [b, c, c])
    refuses(sch, "no block is given", "blockize", [])


@T.prim_func
def without_variables(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")) -> None:
    for i in range(8):
        with T.block("row"):
            T.reads(A[i, 0:12])
            T.writes(B[i, 0:12])
            for j in range(12):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * T.float32(2)


def test_blocks_without_variables_name_the_loops() -> None:
    sch = open_schedule(without_variables)
    (i,) = sch.get_loops("row")
    outer = sch.blockize(i)
    assert str(sch.get(outer).writes[0]) == "B[0:8, 0:12]"
    check(sch, without_variables)


@T.prim_func
def clamped(A: T.Buffer((64, 16), "float32"), B: T.Buffer((64, 16), "float32")) -> None:
    for i, j, k in T.grid(8, 9, 16):
        with T.block("B"):
            vi = T.axis.spatial(64, T.min(i * 8 + j, 63))
            vk = T.axis.spatial(16, k)
            T.where(i * 8 + j < 64 and k < 15)
            B[vi, vk] = A[vi, vk] * T.float32(2)


def test_bindings_that_are_not_affine_stay_on_their_side() -> None:
    sch = open_schedule(clamped)
    sch.blockize(sch.get_loops("B")[2])
    text = sch.mod.script()
    assert "vi_o = T.axis.spatial(64, T.min(i * 8 + j, 63))" in text
    assert "T.where(i * 8 + j < 64)" in text
    assert "T.where(k < 15)" in text
    check(sch, clamped)


def test_bindings_that_are_not_affine_and_mixed() -> None:
    sch = open_schedule(clamped)
    refuses(sch, "cannot be divided", "blockize", sch.get_loops("B")[1])


def test_conditions_on_loops_outside_of_the_scope_stay() -> None:
    @T.prim_func
    def before(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i in range(10):
            with T.block("outer"):
                T.reads(A[0:8, 0:8])
                T.writes(B[0:8, 0:8])
                for j in range(8):
                    with T.block("B"):
                        vi = T.axis.spatial(8, i - 1)
                        vj = T.axis.spatial(8, j)
                        T.where(1 <= i and i < 9)
                        B[vi, vj] = A[vi, vj]

    sch = open_schedule(before)
    sch.blockize(sch.get_loops("B")[0])
    assert "T.where(1 <= i and i < 9)" in sch.mod.script()
    check(sch, before)


def test_conditions_on_floats_are_simplified_too() -> None:
    @T.prim_func
    def before(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 6):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = T.Select(B[vi] >= A[vi, vk], B[vi], A[vi, vk])

    sch = open_schedule(before)
    sch.blockize(sch.get_loops("B")[1])
    assert "T.Select(A[vi_o, vk_i] <= B[vi_o], B[vi_o], A[vi_o, vk_i])" in sch.mod.script()
    check(sch, before)


def test_regions_that_turn_round_end_with_the_buffer() -> None:
    @T.prim_func
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, 7 - vj]

    sch = open_schedule(before)
    sch.blockize(sch.get_loops("B")[0])
    assert "T.reads(A[0:4, 0:8])" in sch.mod.script()
    check(sch, before)


def test_starts_of_open_tiles_stay_within_the_buffer() -> None:
    @T.prim_func
    def before(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i_0, i_1, k in T.grid((n + 7) // 8, 8, 8):
            with T.block("B"):
                vi = T.axis.spatial(n, i_0 * 8 + i_1)
                vk = T.axis.reduce(8, k)
                T.where(i_0 * 8 + i_1 < n)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    sch = open_schedule(before)
    sch.blockize(sch.get_loops("B")[0])
    assert sch.mod.script().count("T.where(i_0 * 8 + i_1 < n)") == 2
