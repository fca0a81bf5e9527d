from __future__ import annotations

import numpy as np

from tests.tir.schedule.cases import check, elementwise, matmul, open_schedule, refuses
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule


def test_fuse() -> None:
    func = elementwise(4, 6, 8)
    sch = open_schedule(func)
    fused = sch.fuse(*sch.get_loops("B"))
    assert sch.get(fused).extent == 4 * 6 * 8
    text = sch.mod.script()
    assert "i0_i1_i2_fused // 48" in text
    assert "i0_i1_i2_fused % 48 // 8" in text
    assert "i0_i1_i2_fused % 8" in text
    check(sch, func)


def test_loops_of_one_iteration_are_at_zero() -> None:
    func = elementwise(1, 4, 1)
    for count, fused in ((1, 1), (3, 4)):
        sch = open_schedule(func)
        loop = sch.fuse(*sch.get_loops("B")[:count])
        assert sch.get(loop).extent == fused
        assert "v_i0 = T.axis.spatial(1, 0)" in sch.mod.script()
        check(sch, func)


def test_what_was_said_of_a_loop_is_said_of_zero() -> None:
    """Nothing is folded: the limit names the loop that is gone by its value."""
    func = elementwise(1, 4)
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("B")[0], [None, 128])
    sch.fuse(outer)
    text = sch.mod.script()
    assert "T.where(T.Mul(0, 128) + i0_1 < 1)" in text
    assert "v_i0 = T.axis.spatial(1, i0_1)" in text
    check(sch, func)


def test_split_takes_fuse_back() -> None:
    func = elementwise(4, 6)
    sch = open_schedule(func)
    fused = sch.fuse(*sch.get_loops("B"))
    sch.split(fused, factors=[4, 6])
    check(sch, func)


def test_loops_must_nest_directly() -> None:
    sch = open_schedule(matmul())
    i, j, k = sch.get_loops("C")
    refuses(sch, "is not directly inside", "fuse", i, k)
    refuses(sch, "is not directly inside", "fuse", j, i)
    refuses(sch, "more than once", "fuse", i, i)


def test_bounds_must_not_depend_on_each_other() -> None:
    i, j = tir.Var("i"), tir.Var("j")
    buffer = tir.decl_buffer((8, 8), name="A")
    vi, vj = tir.Var("vi"), tir.Var("vj")
    block = tir.Block(
        [tir.IterVar((0, 8), vi), tir.IterVar((0, 8), vj)], [], [buffer[vi : vi + 1, vj : vj + 1]],
        "A", tir.BufferStore(buffer, 1.0, [vi, vj]),
    )
    inner = tir.For(j, 0, i + 1, tir.ForKind.SERIAL, tir.BlockRealize([i, j], True, block))
    root = tir.Block([], [], [], "root", tir.For(i, 0, 8, tir.ForKind.SERIAL, inner))
    sch = open_schedule(tir.PrimFunc([buffer], tir.BlockRealize([], True, root)))
    refuses(sch, "depend on the loop 'i'", "fuse", *sch.get_loops("A"))
    refuses(sch, "bounds of the loop 'j'", "reorder", *reversed(sch.get_loops("A")))


def test_loops_that_never_run_are_fused() -> None:
    a = te.placeholder((4, 0, 3), name="A")
    sch = open_schedule(te.create_prim_func([a, te.compute((4, 0, 3), lambda *i: a(*i) + 1)]))
    loops = sch.get_loops("compute")
    fused = sch.fuse(*loops)
    assert sch.get(fused).extent.value == 0


def test_loops_of_different_types() -> None:
    """The fused loop counts in the wider type."""

    @T.prim_func
    def func(a: T.handle, b: T.handle) -> None:
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(8)))
        B = T.match_buffer(b, (n, T.int64(8)))
        for i in range(n):
            for j in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(n, i)
                    vj = T.axis.spatial(T.int64(8), T.Cast("int64", j))
                    B[vi, vj] = A[vi, vj] * T.float32(2)

    for order in (1, -1):
        sch = Schedule(func)
        loops = sch.get_loops(sch.get_block("B"))
        if order < 0:
            sch.reorder(*loops[::-1])
        fused = sch.fuse(*loops[::order])
        assert str(sch.get(fused).loop_var.dtype) == "int64"
        arrays = [np.arange(24, dtype="float32").reshape(3, 8), np.zeros((3, 8), "float32")]
        run(sch.mod["main"], *arrays)
        np.testing.assert_array_equal(arrays[1], arrays[0] * 2)


def test_loops_of_two_open_extents() -> None:
    """n * m for m * n is not told, so the remainder stays in the outer index."""

    @T.prim_func
    def before(a: T.handle, b: T.handle) -> None:
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    sch = open_schedule(before)
    sch.fuse(*sch.get_loops("B"))
    text = sch.mod.script()
    assert "vi = T.axis.spatial(n, i_j_fused % (m * n) // m)" in text
    assert "vj = T.axis.spatial(m, i_j_fused % m)" in text


def test_divisors_are_products_of_the_extents() -> None:
    @T.prim_func
    def before(A: T.Buffer((4, 6, 8), "float32"), B: T.Buffer((4, 6, 8), "float32")) -> None:
        for n in range(4):
            for i, j, k in T.grid(2, n % 2 + 1, 8):
                with T.block("B"):
                    vi = T.axis.spatial(4, n // 2 + i)
                    vj = T.axis.spatial(6, n + j)
                    vk = T.axis.spatial(8, k)
                    B[vi, vj, vk] = A[vi, vj, vk]

    sch = open_schedule(before)
    sch.fuse(*sch.get_loops("B")[1:])
    text = sch.mod.script()
    assert "for i_j_k_fused in range(n % 2 * 16 + 16)" in text
    assert "n // 2 + i_j_k_fused // (8 * (n % 2 + 1))" in text
    assert "n + i_j_k_fused % (8 * (n % 2 + 1)) // 8" in text


def test_a_tail_that_was_split_is_one_loop_again() -> None:
    @T.prim_func
    def before(b: T.handle) -> None:
        n = T.int32()
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = T.float32(2)

    sch = open_schedule(before)
    sch.fuse(*sch.split(sch.get_loops("B")[0], [None, 16]))
    text = sch.mod.script()
    assert "vi = T.axis.spatial(n, i_0_i_1_fused)" in text
