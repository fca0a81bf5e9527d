"""Pieces of one loop, however it was fused and split, cover what the loop covers."""

from __future__ import annotations

import pytest

from tests.tir.schedule.cases import check
from tvm import tir
from tvm.arith import Analyzer
from tvm.ir import Range
from tvm.script import tir as T
from tvm.tir.schedule.analysis.joined_loops import joined

pytestmark = pytest.mark.pure


def two_stages(rows: int, columns: int, depth: int) -> tir.PrimFunc:
    @T.prim_func
    def func(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (rows, columns, depth), "float32")
        C = T.match_buffer(c, (rows, columns), "float32")
        Q = T.alloc_buffer((rows, columns))
        for i, j, k in T.grid(rows, columns, depth):
            with T.block("Q"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Q[vi, vj] = T.float32(0)
                Q[vi, vj] = Q[vi, vj] + A[vi, vj, vk]
        for i, j in T.grid(rows, columns):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = Q[vi, vj] * T.float32(2)

    return func


@pytest.mark.parametrize(("rows", "columns", "piece"), [(32, 40, 256), (6, 10, 4), (6, 10, 16)])
def test_pieces_without_common_digits(rows: int, columns: int, piece: int) -> None:
    func = two_stages(rows, columns, 3)
    sch = tir.Schedule(func)
    for name in ("Q", "C"):
        loop = sch.fuse(*sch.get_loops(name)[:2])
        outer, inner = sch.split(loop, [None, piece])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    assert sch.state._get_cached_flags(sch.get_sref(sch.get_block("root"))).stage_pipeline
    check(sch, func)


def test_the_loop_is_found_once_all_its_pieces_are_in_sums() -> None:
    a, b, k = (tir.Var(name, "int32") for name in "abk")
    ranges = {var: Range(0, extent) for var, extent in ((a, 5), (b, 256), (k, 7))}
    place = a * 256 + b
    found = joined([place // 40, place % 40 + k * 40, place < 1200], ranges, Analyzer())
    assert found is not None
    (first, second, limit), loops = found
    (whole,) = [var for var in loops if var not in ranges]
    assert [str(x) for x in (first, second, limit)] == [
        "fused // 40", "fused % 40 + k * 40", "fused < 1200",
    ]  # fmt: skip
    assert int(loops[whole].extent) == 1280
    assert k in loops
    assert a not in loops
    for others in ([place // 40, b], [a * 200 + b], [a + b]):
        assert joined(others, ranges, Analyzer()) is None


def test_what_is_written_backwards_is_covered() -> None:
    @T.prim_func
    def func(P: T.Buffer((8, 8), "float32"), R: T.Buffer((8, 8), "float32")):
        Q = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("Q"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[vi, 7 - vj] = P[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("R"):
                vi, vj = T.axis.remap("SS", [i, j])
                R[vi, vj] = Q[vi, vj]

    sch = tir.Schedule(func)
    sch.compute_at("Q", sch.get_loops("R")[0])
    check(sch, func)


def test_remainders_that_lost_a_piece_or_a_part_of_it() -> None:
    a, b = (tir.Var(name, "int32") for name in "ab")
    ranges = {a: Range(0, 2), b: Range(0, 32)}
    place = a * 32 + b
    exprs = [place // 18 * 2 + b % 2, (a * 14 + b) % 18 // 2, place < 36]
    found = joined(exprs, ranges, Analyzer())
    assert found is not None
    assert [str(x) for x in found[0]] == [
        "fused // 18 * 2 + fused % 2", "fused % 18 // 2", "fused < 36",
    ]  # fmt: skip
    assert joined([*exprs, (a * 13 + b) % 18], ranges, Analyzer()) is None, "another remainder"
