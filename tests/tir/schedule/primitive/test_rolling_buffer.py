from __future__ import annotations

import pytest

from tests.tir.schedule.cases import check, check_native, open_schedule, refuses, stencil
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol


def sums(n: int, size: int = 3, stride: int = 1) -> tir.PrimFunc:
    """Two sums over windows of a row, one after the other, in four rows."""
    a = te.placeholder((4, (n - 1) * stride + 2 * size - 1), name="A")
    k, r = te.reduce_axis((0, size), name="k"), te.reduce_axis((0, size), name="r")
    b = te.compute(
        (4, (n - 1) * stride + size), lambda c, i: te.sum(a[c, i + k], axis=k), name="B"
    )
    c = te.compute((4, n), lambda c, i: te.sum(b[c, i * stride + r], axis=r), name="C")
    return te.create_prim_func([a, c])


def pools(n: int) -> tir.PrimFunc:
    """Two maxima over 3x3 windows, one after the other."""
    a = te.placeholder((n + 4, n + 4), name="A")
    kernels = [te.reduce_axis((0, 3), name=name) for name in "klrs"]
    k, m, r, s = kernels
    b = te.compute(
        (n + 2, n + 2), lambda i, j: te.max(a[i + k, j + m], axis=[k, m]), name="B"
    )
    c = te.compute((n, n), lambda i, j: te.max(b[i + r, j + s], axis=[r, s]), name="C")
    return te.create_prim_func([a, c])


def in_a_loop(func: tir.PrimFunc, factor: int = 4) -> tuple[Schedule, BlockRV, LoopRV]:
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("C")[1], factors=[None, factor])
    block = sch.get_block("B")
    sch.compute_at(block, outer)
    return sch, block, outer


@T.prim_func
def rolled(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4, 8), "float32")) -> None:
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 6))
    for c, i_0 in T.grid(4, 2):
        for ax0, ax1 in T.grid(6, 3):
            with T.block("B"):
                T.where(i_0 < 1 or 2 <= ax0)
                vc = T.axis.spatial(4, c)
                vi = T.axis.opaque(10, i_0 * 4 + ax0)
                vk = T.axis.reduce(3, ax1)
                T.reads(A[vc, vi + vk])
                T.writes(B[vc, vi % 6])
                with T.init():
                    B[vc, vi % 6] = T.float32(0)
                B[vc, vi % 6] = B[vc, vi % 6] + A[vc, vi + vk]
        for i_1, r in T.grid(4, 3):
            with T.block("C"):
                vc = T.axis.spatial(4, c)
                vi = T.axis.opaque(8, i_0 * 4 + i_1)
                vr = T.axis.reduce(3, r)
                T.reads(B[vc, (vi + vr) % 6])
                T.writes(C[vc, vi])
                with T.init():
                    C[vc, vi] = T.float32(0)
                C[vc, vi] = C[vc, vi] + B[vc, (vi + vr) % 6]


def test_one_dimension() -> None:
    func = sums(8)
    sch, block, _ = in_a_loop(func)
    sch.rolling_buffer(block, 0)
    assert_structural_equal_ignore_global_symbol(sch.mod["main"], rolled)
    assert ", write_buffer_index=0)" in str(sch.trace)
    check(sch, func)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("factor", [1, 2, 4])
def test_windows(stride: int, factor: int) -> None:
    func = sums(8, 4, stride)
    sch, block, _ = in_a_loop(func, factor)
    sch.rolling_buffer(block, 0)
    check(sch, func)


def in_two_loops() -> tuple[Schedule, tir.PrimFunc, LoopRV, LoopRV]:
    func = pools(8)
    sch = open_schedule(func)
    i, j, _, _ = sch.get_loops("C")
    (io, ii), (jo, ji) = sch.split(i, factors=[2, 4]), sch.split(j, factors=[2, 4])
    sch.reorder(io, jo, ii, ji)
    sch.compute_at("B", jo)
    sch.rolling_buffer("B", 0)
    return sch, func, io, jo


def test_two_dimensions() -> None:
    sch, func, _, _ = in_two_loops()
    text = sch.mod.script()
    assert "B = T.alloc_buffer((6, 10))" in text
    assert "T.where((i_0 < 1 or 2 <= ax0) and (j_0 < 1 or 2 <= ax1))" in text
    assert "B[(v_i + v_r) % 6, v_j + v_s]" in text
    check(sch, func)


def test_the_order_of_iterations_counts_now() -> None:
    sch, func, io, jo = in_two_loops()
    refuses(sch, "is not a stage pipeline", "parallel", jo)
    refuses(sch, "is not a stage pipeline", "vectorize", jo)
    refuses(sch, "data parallel or reducing", "reorder", jo, io)
    sch.fuse(io, jo)
    check(sch, func)


@pytest.mark.cpu
def test_native() -> None:
    sch, func, _, _ = in_two_loops()
    check_native(sch, func)


def test_refusals() -> None:
    sch = open_schedule(stencil())
    first, last = sch.get_block("B"), sch.get_block("C")
    refuses(sch, "share no loop", "rolling_buffer", first, 0)
    refuses(sch, "is a parameter of the function", "rolling_buffer", last, 0)
    refuses(sch, "there is no number 1", "rolling_buffer", first, 1)


def test_windows_that_are_apart() -> None:
    func = sums(8, 2, 4)
    sch, block, _ = in_a_loop(func, 1)
    message = refuses(sch, "no loop around moves that", "rolling_buffer", block, 0)
    assert "a window such as [i * 4, i * 4 + 5]" in message


def test_threads_do_not_share_a_window() -> None:
    sch = open_schedule(sums(8))
    outer, _ = sch.split(sch.get_loops("C")[1], factors=[None, 4])
    sch.parallel(outer)
    block = sch.get_block("B")
    sch.compute_at(block, outer)
    refuses(sch, "run at the same time", "rolling_buffer", block, 0)
