from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul, open_schedule, refuses, stencil
from tvm import te, tir


def test_read_and_write() -> None:
    a = te.placeholder((12,), name="A")
    k = te.reduce_axis((0, 3), name="k")
    func = te.create_prim_func(
        [a, te.compute((10,), lambda i: te.sum(a[i + k], axis=k), name="C")]
    )
    sch = open_schedule(func)
    sch.reindex("C", ("read", 0))
    sch.reindex("C", "C")
    text = sch.mod.script()
    assert "A_reindex[v0, v1] = A[v0 + v1]" in text
    assert "C_reindex[v_i] = C_reindex[v_i] + A_reindex[v_i, v_k]" in text
    check(sch, func)


def test_unused_variables_have_no_dimension() -> None:
    func = matmul()
    sch = open_schedule(func)
    copy = sch.reindex("C", ("read", 1))
    assert [int(d) for d in sch.get(copy).writes[0].buffer.shape] == [12, 16]
    check(sch, func)


def test_several_places() -> None:
    sch = open_schedule(stencil())
    block = sch.get_block("C")
    refuses(sch, "at several indices", "reindex", block, ("read", 0))


def test_reads_that_nothing_guards_are_copied_whatever_the_extents() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a = te.placeholder((n,), name="A")
    sch = open_schedule(te.create_prim_func([a, te.compute((m,), lambda i: a[i * 2], name="B")]))
    assert sch.get(sch.reindex("B", ("read", 0))).writes[0].buffer.shape[0] is sch.get(
        sch.get_loops("B")[0]
    ).extent


def test_guarded_reads_and_shared_loops() -> None:
    a = te.placeholder((8,), name="A")
    zero = tir.const(0.0, "float32")
    padded = te.compute((9,), lambda i: tir.if_then_else(i >= 1, a[i - 1], zero), name="B")
    sch = open_schedule(te.create_prim_func([a, padded]))
    refuses(sch, "may lie outside of the buffer", "reindex", sch.get_block("B"), ("read", 0))
    sch = open_schedule(chain())
    sch.compute_at("B", sch.get_loops("C")[0])
    refuses(sch, "shares a loop with block 'B'", "reindex", sch.get_block("C"), ("read", 0))


def test_variables_that_do_not_move_the_place() -> None:
    a = te.placeholder((9, 4), name="A")
    func = te.create_prim_func(
        [a, te.compute((9, 16, 4), lambda i, j, k: a[i, j // 16 * 4 + k] + 1.0, name="B")]
    )
    sch = open_schedule(func)
    sch.reindex("B", ("read", 0))
    text = sch.mod.script()
    assert "A_reindex = T.alloc_buffer((9, 4))" in text
    assert "A_reindex[v0, v1] = A[v0, v1]" in text
    check(sch, func)


def test_dimensions_of_one_element_stay() -> None:
    a = te.placeholder((1, 8), name="A")
    func = te.create_prim_func([a, te.compute((1, 8), lambda i, j: a[i, j] + 1.0, name="B")])
    sch = open_schedule(func)
    sch.reindex("B", ("read", 0))
    assert "A_reindex = T.alloc_buffer((1, 8))" in sch.mod.script()
    check(sch, func)


def test_buffers_that_are_updated_are_not_read_through_copies() -> None:
    for primitive, more in (
        ("reindex", [("read", 0)]),
        ("reindex_cache_read", [0, "shared", lambda i, k: (i,)]),
    ):
        sch = open_schedule(rows())
        sch.blockize(sch.get_loops("B")[0])
        refuses(sch, "writes 'B' as well", primitive, sch.get_block("B"), *more)


def rows() -> tir.PrimFunc:
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    return te.create_prim_func([a, b])
