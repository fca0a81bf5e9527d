from __future__ import annotations

from tests.tir.schedule.cases import check, matmul, matmul_relu, open_schedule, refuses, stencil
from tvm import te
from tvm.script import tir as T


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


def test_loops_that_were_split_or_fused_keep_their_extents() -> None:
    func = matmul(7, 10, 5)
    sch = open_schedule(func)
    i, j, k = sch.get_loops("C")
    sch.split(k, [None, 3])
    sch.fuse(i, j)
    sch.pad_einsum("C", [4, 8, 4])
    text = sch.mod.script()
    assert "for i_j_fused, k_0, k_1 in T.grid(70, 2, 3):" in text
    assert "T.axis.spatial(8, i_j_fused // 10)" in text
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
    sch = open_schedule(part_of_a_sum)
    refuses(sch, "are not bound to one loop each", "pad_einsum", sch.get_block("C"), [1, 5, 1])


@T.prim_func
def part_of_a_sum(
    A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((8, 7), "float32")
) -> None:
    for i, j, k in T.grid(4, 7, 6):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
