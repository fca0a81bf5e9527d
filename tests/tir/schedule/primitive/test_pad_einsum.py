from __future__ import annotations

from tests.tir.schedule.cases import check, matmul, matmul_relu, open_schedule, refuses, stencil
from tvm import te


def test_all_sides() -> None:
    func = matmul(7, 10, 5)
    sch = open_schedule(func)
    sch.pad_einsum("C", [4, 8, 4])
    text = sch.mod.script()
    assert "A_pad = T.alloc_buffer((8, 8))" in text
    assert "T.if_then_else(v0 < 7 and v1 < 5, A[v0, v1], T.float32(0.0))" in text
    assert "for i, j, k in T.grid(8, 16, 8):" in text
    check(sch, func)


def test_what_divides_stays() -> None:
    func = matmul_relu(8, 10)
    sch = open_schedule(func)
    sch.pad_einsum("C", [4, 8, 1])
    text = sch.mod.script()
    assert "A_pad" not in text
    assert "B_pad" in text
    check(sch, func)


def test_refusals() -> None:
    sch = open_schedule(matmul())
    refuses(sch, "does not fit the 3 variables", "pad_einsum", sch.get_block("C"), [4, 4])
    sch = open_schedule(stencil())
    refuses(sch, "is no Einstein sum", "pad_einsum", sch.get_block("C"), [4])


def test_what_zeros_would_change() -> None:
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    func = te.create_prim_func(
        [a, te.compute((4,), lambda i: te.max(a[i, k], axis=k), name="B")]
    )
    sch = open_schedule(func)
    refuses(sch, "would change its result", "pad_einsum", sch.get_block("B"), [1, 4])


def test_parts_of_a_domain_are_not_padded() -> None:
    sch = open_schedule(matmul())
    sch.loop_partition(sch.get_loops("C")[0], [None, 4])
    block = sch.get_block("C_i1")
    refuses(sch, "are not bound to one loop each", "pad_einsum", block, [1, 5, 1])
