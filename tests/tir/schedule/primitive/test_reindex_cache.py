from __future__ import annotations

from tests.tir.schedule.cases import (
    chain,
    check,
    elementwise,
    matmul,
    open_schedule,
    refuses,
    stencil,
)


def test_transposed_copies() -> None:
    func = elementwise(8, 16)
    sch = open_schedule(func)
    sch.reindex_cache_read("B", 0, "shared", lambda i, j: (j, i))
    sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))
    text = sch.mod.script()
    assert "A_shared[v_i1, v_i0] = A[v_i0, v_i1]" in text
    assert "B_local[v_i1, v_i0] = A_shared[v_i1, v_i0] + T.float32(1.0)" in text
    check(sch, func)


def test_tiled_copy() -> None:
    func = matmul()
    sch = open_schedule(func)
    sch.reindex_cache_read("C", 1, "shared", lambda i, j, k: (j // 4, k, j % 4))
    assert "B_shared = T.alloc_buffer((3, 16, 4), scope" in sch.mod.script()
    check(sch, func)


def test_copies_run_in_loops_like_the_blocks() -> None:
    func = matmul()
    sch = open_schedule(func)
    rows = sch.get_loops("C")[0]
    sch.split(rows, [None, 5])
    sch.reindex_cache_read("C", 0, "shared", lambda i, j, k: (k, i))
    sch.reindex_cache_write("C", 0, "local", lambda i, j, k: (j, i))
    block = sch.get_block("A_shared")
    outer, inner, deep = (sch.get(loop) for loop in sch.get_loops(block))
    assert int(outer.extent) * int(inner.extent) >= int(sch.get(block).iter_vars[0].dom.extent)
    # the tail of the split does not reach behind the buffer
    assert sch.mod.script().count(f"T.where({outer.loop_var.name} * 5") == 3
    assert [iv.var.name for iv in sch.get(block).iter_vars] == ["v_i", "v_k"]
    assert deep.loop_var.name == "k"
    check(sch, func)


def test_copies_of_one_iteration() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.reindex_cache_write("B", 0, "local", lambda *axes: axes[::-1])
    assert len(sch.get_loops("B_local")) == len(sch.get_loops("B"))
    check(sch, func)


def test_refusals() -> None:
    sch = open_schedule(elementwise(8, 16))
    block = sch.get_block("B")
    refuses(
        sch, "does not use the variables ['v_i1']", "reindex_cache_read", block, 0, "shared",
        lambda i, j: (i,),
    )
    sch = open_schedule(stencil())
    block = sch.get_block("C")
    refuses(
        sch, "at several indices", "reindex_cache_read", block, 0, "shared", lambda i: (i,)
    )


def test_variables_that_the_access_does_not_have() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    for primitive in ("reindex_cache_write", "reindex_cache_read"):
        refuses(
            sch, "on which the index of the access does not depend", primitive, block, 0, "shared",
            lambda i, j, k: (i, j, k),
        )  # fmt: skip
