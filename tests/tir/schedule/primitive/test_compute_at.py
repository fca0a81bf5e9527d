from __future__ import annotations

import pytest

from tests.tir.schedule.cases import (
    chain,
    check,
    matmul_relu,
    open_schedule,
    refuses,
    stencil,
)
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.schedule import Schedule, ScheduleError


def test_elementwise_producer() -> None:
    func = chain()
    sch = open_schedule(func)
    i, _ = sch.get_loops("C")
    sch.compute_at("B", i)
    assert "for ax0 in range(16):" in sch.mod.script()
    check(sch, func)


def test_tiles_of_a_stencil_overlap() -> None:
    func = stencil()
    sch = open_schedule(func)
    (i,) = sch.get_loops("C")
    outer, _ = sch.split(i, factors=[None, 4])
    sch.compute_at("B", outer)
    text = sch.mod.script()
    assert "for ax0 in range(6):" in text
    assert "T.axis.spatial(18, i_0 * 4 + ax0)" in text
    check(sch, func)


def test_parts_beyond_the_end_get_a_predicate() -> None:
    func = stencil(10)
    sch = open_schedule(func)
    (i,) = sch.get_loops("C")
    outer, _ = sch.split(i, factors=[None, 4])
    sch.compute_at("B", outer)
    assert "T.where(i_0 * 4 + ax0 < 12)" in sch.mod.script()
    check(sch, func)


def test_reduction_producer() -> None:
    func = matmul_relu()
    sch = open_schedule(func)
    _, j = sch.get_loops("D")
    sch.compute_at("C", j)
    check(sch, func)


def test_consumer_after_its_producer() -> None:
    func = matmul_relu()
    sch = open_schedule(func)
    i, _, _ = sch.get_loops("C")
    outer, _ = sch.split(i, factors=[None, 4])
    sch.reverse_compute_at("D", outer)
    check(sch, func)


def test_consumer_of_an_uneven_split() -> None:
    func = matmul_relu(10)
    sch = open_schedule(func)
    i, _, _ = sch.get_loops("C")
    outer, _ = sch.split(i, factors=[None, 4])
    sch.reverse_compute_at("D", outer)
    assert "T.where(i_0 * 4 + ax0 < 10)" in sch.mod.script()
    check(sch, func)


def test_consumer_inside_the_sum() -> None:
    func = matmul_relu()
    sch = open_schedule(func)
    k = sch.get_loops("C")[2]
    outer, _ = sch.split(k, factors=[None, 4])
    sch.reverse_compute_at("D", outer)
    check(sch, func)  # the last of its runs sees the whole sum


def test_sums_of_what_stands_inside_a_sum() -> None:
    """A copy may be made again with each step of a sum; what sums the copies may not."""
    x = te.placeholder((8, 8), "float32", "X")
    k, m = te.reduce_axis((0, 8), "k"), te.reduce_axis((0, 8), "m")
    c = te.compute((8, 8), lambda i, j: te.sum(x[i, k] * x[k, j], k), "C")
    d = te.compute((8, 8), lambda i, j: c[i, j] * 2.0, "D")
    e = te.compute((8,), lambda i: te.sum(d[i, m], m), "E")
    func = te.create_prim_func([x, e])
    sch = open_schedule(func)
    loop = sch.get_loops("C")[2]
    sch.reverse_compute_at("D", loop)
    refuses(
        sch, "its result is not complete there", "reverse_compute_at", sch.get_block("E"), loop
    )
    check(sch, func)


def test_consumer_inside_a_parallel_sum() -> None:
    sch = open_schedule(matmul_relu())
    k = sch.get_loops("C")[2]
    sch.bind(k, "threadIdx.x")
    refuses(
        sch, "its result is not complete there", "reverse_compute_at", sch.get_block("D"), k
    )


def test_consumer_that_reads_ahead() -> None:
    sch = open_schedule(stencil())
    (i,) = sch.get_loops("B")
    refuses(sch, "not written yet", "reverse_compute_at", sch.get_block("C"), i)


def test_outputs_and_strangers() -> None:
    sch = open_schedule(chain())
    i, _ = sch.get_loops("C")
    refuses(sch, "writes an output", "compute_at", sch.get_block("D"), i)
    j, _ = sch.get_loops("D")
    refuses(sch, "are not under loop", "compute_at", sch.get_block("B"), j)
    own, _ = sch.get_loops("B")
    refuses(sch, "stands within", "compute_at", sch.get_block("B"), own)


def test_place_among_the_statements() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((8,), lambda i: a[i] + 3.0, name="C")
    func = te.create_prim_func([a, te.compute((8,), lambda i: b[i] + c[i], name="D")])
    sch = open_schedule(func)
    (i,) = sch.get_loops("D")
    sch.compute_at("B", i)
    sch.compute_at("C", i, index=0)
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(i)]
    assert names == ["C", "B", "D"]
    check(sch, func)


def test_what_memory_tells_under_a_predicate_is_not_read_without_it() -> None:
    source = te.placeholder((5, 4), "float32", "source")
    rows = te.placeholder((5,), "int32", "rows")
    copied = te.compute((5, 4), lambda i, j: source[i, j], "copied")
    found = te.compute((5, 4), lambda i, j: copied[rows[i] % 5, j] * 2.0, "found")
    func = te.create_prim_func([source, rows, found])
    sch = open_schedule(func)
    i, _ = sch.get_loops("found")
    _, inner = sch.split(i, factors=[None, 3])
    sch.compute_at("copied", inner)
    assert "T.axis.spatial(5, rows" not in sch.mod.script()
    check(sch, func)


def test_each_thread_block_finishes_its_own_part() -> None:
    a = te.placeholder((8, 16), name="A")
    b = te.compute((8, 16), lambda i, j: a[i, j] + 1.0, name="B")
    func = te.create_prim_func([a, te.compute((8, 16), lambda i, j: b[i, j] * 2.0, name="C")])
    sch = Schedule(func)
    row, _ = sch.get_loops("B")
    sch.bind(row, "blockIdx.x")
    sch.reverse_compute_at("C", row)
    assert [str(sch.get(loop).extent) for loop in sch.get_loops("C")] == ["8", "16"]
    check(sch, func)


def test_a_border_would_be_lost() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    zero = tir.const(0.0, "float32")
    c = te.compute((9,), lambda i: tir.if_then_else(i < 8, b[i], zero), name="C")
    sch = Schedule(te.create_prim_func([a, c]))
    outer, _ = sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 4])
    block = sch.get_block("C")
    refuses(sch, "'C' also runs where it does not read 'B'", "reverse_compute_at", block, outer)


def test_tiles_wider_than_what_there_is_keep_their_extents() -> None:
    a = te.placeholder((3, 5), name="A")
    b = te.compute((3, 5), lambda i, j: a[i, j] * 2, name="B")
    c = te.compute((3, 5), lambda i, j: b[i, j] + 1, name="C")
    func = te.create_prim_func([a, c])
    for depth in range(1, 4):
        sch = open_schedule(func)
        i, j = sch.get_loops("B")
        i0, i1 = sch.split(i, factors=[None, 4])
        j0, j1 = sch.split(j, factors=[None, 4])
        sch.reorder(i0, j0, i1, j1)
        sch.reverse_compute_at("C", sch.get_loops("B")[depth])
        assert "range(3 -" not in str(sch.mod)
        assert "range(5 -" not in str(sch.mod)
        check(sch, func)


def test_consumers_that_take_numbers_apart_otherwise() -> None:
    a = te.placeholder((2, 6, 3, 16), name="A")
    b = te.compute((2, 6, 3, 16), lambda *at: a[at] * 2, name="B")
    c = te.compute(
        (2, 12, 3, 8),
        lambda n, i, h, j: b[n, (i * 8 + j) // 16, h, (i * 8 + j) % 16] + 1,
        name="C",
    )
    func = te.create_prim_func([a, c])
    for depth, loops in ((0, "12, 3, 8"), (1, "2, 3, 8")):
        sch = open_schedule(func)
        sch.reverse_compute_at("C", sch.get_loops("B")[depth])
        assert f"in T.grid({loops}):" in sch.mod.script()
        check(sch, func)


def test_blocks_that_name_their_loops_stay() -> None:
    @T.prim_func
    def before(A: T.Buffer((8,)), C: T.Buffer((8,))):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("outer"):
                T.reads(A[i])
                T.writes(B[i])
                B[i] = A[i] + T.float32(1)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi]

    sch = open_schedule(before)
    loop = sch.get_loops("C")[0]
    refuses(sch, "uses the loop 'i' in its body", "compute_at", sch.get_block("outer"), loop)


@T.prim_func
def rows(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    R = T.alloc_buffer((8,))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i in range(8):
        with T.block("R"):
            vi = T.axis.spatial(8, i)
            R[vi] = A[vi, 0]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] + R[vi]


def test_a_consumer_of_rows_and_of_columns_is_refused() -> None:
    sch = Schedule(rows, debug_mask="all")
    b, r = sch.get_loops("B")[0], sch.get_loops("R")[0]
    loop = sch.merge(b, r)
    with pytest.raises(ScheduleError, match="let different instances of block 'C' run"):
        sch.reverse_compute_at("C", loop)


def test_a_consumer_of_what_different_loops_tell_moves() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 8), "float32")):
        P = T.alloc_buffer((8,))
        Q = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("P"):
                vi = T.axis.spatial(8, i)
                P[vi] = A[vi] * 2.0
            for j in range(8):
                with T.block("Q"):
                    vj = T.axis.spatial(8, j)
                    Q[vj] = A[vj] + 1.0
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = P[vi] + Q[vj]

    sch = Schedule(func, debug_mask="all")
    sch.reverse_compute_at("C", sch.get_loops("P")[0])
    check(sch, func)


def test_what_reads_parameters_only_moves_whole() -> None:
    """It has no producer that would say which part a consumer under the loop needs."""
    func = chain()
    sch = open_schedule(func)
    copy = sch.cache_read("B", 0, "shared")
    outer, _ = sch.split(sch.get_loops("B")[0], [4, None])
    sch.reverse_compute_at(copy, outer)
    whole = [sch.get(loop).extent.value for loop in sch.get_loops(copy)]
    assert whole == [4, *(dim.value for dim in sch.get(copy).writes[0].buffer.shape)]
    check(sch, func)


def test_what_reads_parameters_only_stays_before_its_readers() -> None:
    """No producer keeps it at a loop that comes before them."""
    sch = open_schedule(chain())
    (loop, *_) = sch.get_loops("C")
    copy = sch.cache_write("B", 0, "local")
    with pytest.raises(ScheduleError, match=r"consumers .* stand before"):
        sch.reverse_compute_at("B", loop)
    sch.reverse_compute_at(copy, sch.get_loops("B")[0])


def test_tiles_of_fused_loops_stay_in_their_domains() -> None:
    @T.prim_func
    def func(a: T.handle, c: T.handle, n: T.int32) -> None:
        A, C = T.match_buffer(a, (4, n)), T.match_buffer(c, (4, (n + 7) // 8 * 8))
        B = T.alloc_buffer((4, (n + 7) // 8 * 8))
        for b, i in T.grid(4, (n + 7) // 8 * 8):
            with T.block("B"):
                vb, vi = T.axis.remap("SS", [b, i])
                B[vb, vi] = T.if_then_else(vi < n, A[vb, vi], T.float32(0))
        for b, i in T.grid(4, (n + 7) // 8 * 8):
            with T.block("C"):
                vb, vi = T.axis.remap("SS", [b, i])
                C[vb, vi] = B[vb, vi] + T.float32(1)

    for name in ("B", "C"):
        sch = open_schedule(func)
        b, i = sch.get_loops(name)
        outer, _ = sch.split(i, factors=[None, 8])
        fused = sch.fuse(b, outer)
        if name == "B":
            sch.reverse_compute_at("C", fused)
        else:
            sch.compute_at("B", fused)
        text = sch.mod.script()
        assert "spatial((n + 7) // 8 * 8, b_i_0_fused % ((n + 7) // 8) * 8 + ax0)" in text
        assert "T.where" not in text


def padded_rows() -> tir.PrimFunc:
    @T.prim_func
    def func(a: T.handle, c: T.handle, m: T.int32) -> None:
        A, C = T.match_buffer(a, (m, 8)), T.match_buffer(c, (m, 8))
        B = T.alloc_buffer(((m + 15) // 16 * 16, 8))
        for i, j in T.grid((m + 15) // 16 * 16, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(vi < m, A[vi, vj], T.float32(0))
        for i, j in T.grid(m, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]

    return func


def test_rounded_tiles_of_rounded_sizes_cover_them() -> None:
    sch = open_schedule(padded_rows())
    inner = sch.split(sch.get_loops("B")[0], [None, 4, 16])[1]
    sch.reverse_compute_at("C", inner)
    text = sch.mod.script()
    assert "vi = T.axis.spatial(m, i_0 * 64 + i_1 * 16 + ax0)" in text
    # where B may end before the tile does, its end is a limit beside that of C
    assert (
        "T.where((i_0 * 4 + i_1 - (m + 15) // 16 < 0 or i_0 * 64 + i_1 * 16 + ax0 == 0) "
        "and i_0 * 64 + i_1 * 16 + ax0 < m)" in text
    )


def test_tiles_of_a_rounded_size_are_compared_with_their_number() -> None:
    sch = open_schedule(padded_rows())
    sch.reverse_compute_at("C", sch.split(sch.get_loops("B")[0], [None, 16])[0])
    text = sch.mod.script()
    assert (
        "T.where((i_0 - (m + 15) // 16 < 0 or i_0 * 16 + ax0 == 0) and i_0 * 16 + ax0 < m)" in text
    )
    sch = open_schedule(padded_rows())
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    assert "T.where(i < m)" in sch.mod.script()  # of one loop the end is known


def test_reads_without_condition_are_inside_whatever_the_symbols() -> None:
    @T.prim_func
    def func(a: T.handle, c: T.handle, m: T.int32) -> None:
        A, C = T.match_buffer(a, (2 * m, 8)), T.match_buffer(c, (m, 8))
        B = T.alloc_buffer((2 * m, 8))
        for i, j in T.grid(2 * m, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(m, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]

    sch = open_schedule(func)
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    assert "T.where((i < m * 2 or i == 0) and i < m)" in sch.mod.script()
