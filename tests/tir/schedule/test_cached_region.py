from __future__ import annotations

import pytest

from tests.tir.schedule.cases import check, check_native, matmul, open_schedule, refuses
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol


@T.prim_func
def tiled(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")) -> None:
    for i0, j0 in T.grid(2, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i0, j0])
            T.reads(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            for i, j in T.grid(4, 4):
                with T.block("B"):
                    ii, jj = T.axis.remap("SS", [i, j])
                    B[vi * 4 + ii, vj * 4 + jj] = A[vi * 4 + ii, vj * 4 + jj] * T.float32(2)


@T.prim_func
def tiled_through_copies(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")) -> None:
    for i0, j0 in T.grid(2, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i0, j0])
            T.reads(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            A_shared = T.alloc_buffer((4, 4), scope="shared")
            B_local = T.alloc_buffer((4, 4), scope="local")
            for ax0, ax1 in T.grid(4, 4):
                with T.block("A_shared"):
                    v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    A_shared[v0, v1] = A[vi * 4 + v0, vj * 4 + v1]
            for i, j in T.grid(4, 4):
                with T.block("B"):
                    ii, jj = T.axis.remap("SS", [i, j])
                    B_local[ii, jj] = A_shared[ii, jj] * T.float32(2)
            for ax0, ax1 in T.grid(4, 4):
                with T.block("B_local"):
                    v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    B[vi * 4 + v0, vj * 4 + v1] = B_local[v0, v1]


def test_in_a_block_only_its_region_is_copied() -> None:
    sch = open_schedule(tiled)
    sch.cache_read("B", 0, "shared")
    sch.cache_write("B", 0, "local")
    assert_structural_equal_ignore_global_symbol(sch.mod["main"], tiled_through_copies)
    check(sch, tiled)


@pytest.mark.cpu
def test_native() -> None:
    sch = open_schedule(tiled)
    sch.cache_read("B", 0, "global")
    sch.cache_write("B", 0, "local")
    check_native(sch, tiled)


@T.prim_func
def ragged(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")) -> None:
    for i0 in range(3):
        with T.block("tile"):
            vi = T.axis.spatial(3, i0)
            T.reads(A[vi * 4 : vi * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4])
            for i in range(4):
                with T.block("B"):
                    ii = T.axis.spatial(4, i)
                    T.where(vi * 4 + i < 10)
                    B[vi * 4 + ii] = A[vi * 4 + ii] * T.float32(2)


def test_regions_over_the_end_are_not_copied() -> None:
    sch = open_schedule(ragged)
    sch.cache_read("B", 0, "local")
    assert 'A_local = T.alloc_buffer((10,), scope="local")' in sch.mod.script()
    check(sch, ragged)


def test_a_copy_beside_a_reduction() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, j, k = sch.get_loops("C")
    (io, ii), (jo, ji) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    sch.reorder(io, jo, ii, ji, k)
    sch.blockize(ii)
    block = sch.get_block("C")
    refuses(sch, "it starts from what was there before", "cache_write", block, 0, "local")
    copy = sch.cache_read("C", 2, "shared")
    assert [int(e) for e in _shape(sch.get(copy))] == [16, 4]
    check(sch, func)


def _shape(block: tir.Block) -> list[tir.PrimExpr]:
    return list(block.writes[0].buffer.shape)


@T.prim_func
def guarded(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")) -> None:
    for io, ii in T.grid(2, 4):
        with T.block("tile"):
            vi = T.axis.spatial(8, io * 4 + ii)
            T.where(io * 4 + ii < 5)
            T.reads(A[vi * 4 : vi * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4])
            for i in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, i)
                    B[vi * 4 + vj] = A[vi * 4 + vj] * T.float32(2)


def test_what_runs_of_an_outer_block_is_copied() -> None:
    """The predicate around the scope says that no tile reaches over the end."""
    sch = open_schedule(guarded)
    sch.cache_read("B", 0, "shared")
    sch.cache_write("B", 0, "local")
    text = sch.mod.script()
    assert 'A_shared = T.alloc_buffer((4,), scope="shared")' in text
    assert 'B_local = T.alloc_buffer((4,), scope="local")' in text
    check(sch, guarded)


@T.prim_func
def overlapping(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")) -> None:
    for i0 in T.parallel(3):
        with T.block("tile"):
            vi = T.axis.spatial(3, i0)
            T.reads(A[0:10])
            T.writes(B[0:10])
            for i in range(4):
                with T.block("B"):
                    ii = T.axis.spatial(4, i)
                    T.where(vi * 4 + i < 10)
                    B[vi * 4 + ii] = A[vi * 4 + ii] * T.float32(2)


def test_no_more_is_copied_back_than_was_written() -> None:
    sch = open_schedule(overlapping)
    sch.cache_write("B", 0, "local")
    extent = str(sch.get(sch.get_loops("B_local")[-1]).extent)
    assert extent == "T.min(vi * -4, -6) + 10"
    check(sch, overlapping)


@T.prim_func
def packed(W: T.Buffer((16, 4), "int32"), B: T.Buffer((16, 32), "int32")) -> None:
    for i, j, k in T.grid(16, 4, 8):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, (vj * 8 + vk) // 8 * 8 + vk] = W[vi, (vj * 8 + vk) // 8] + vk


def test_indices_of_the_copy_are_simple() -> None:
    sch = open_schedule(packed)
    sch.cache_read("B", 0, "local")
    sch.cache_write("B", 0, "local")
    text = sch.mod.script()
    assert "W_local[vi, vk // 8 + vj] + vk" in text
    assert "B_local[vi, vk // 8 * 8 + vj * 8 + vk] = " in text
    check(sch, packed)
