from __future__ import annotations

from tests.tir.schedule.cases import check, matmul, open_schedule, refuses


def test_hide() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    sch.unsafe_hide_buffer_access(block, "read", [1])
    assert [r.buffer.name for r in sch.get(block).reads] == ["A"]
    check(sch, func)
    refuses(sch, "there is no number 3", "unsafe_hide_buffer_access", block, "write", [3])
    refuses(sch, "the buffer type is 'both'", "unsafe_hide_buffer_access", block, "both", [0])


def test_annotate() -> None:
    func = matmul()
    sch = open_schedule(func)
    block = sch.get_block("C")
    sch.annotate_buffer_access(block, 0, "read", lambda i, j, k: ((i, i + 1), (0, 16)))
    assert "T.reads(A[v_i, 0:16], B[v_k, v_j])" in sch.mod.script()
    assert sch.get(block).annotations["explicit_read_region"] == (0,)
    check(sch, func)
    refuses(
        sch, "2 bounds are given for the 2 dimensions", "annotate_buffer_access", block, 0, "read",
        lambda i, j, k: ((i, i + 1),),
    )
