from __future__ import annotations

from tests.tir.schedule.cases import check, elementwise, matmul, open_schedule, refuses


def test_fuse_variables() -> None:
    func = elementwise(4, 6)
    sch = open_schedule(func)
    sch.transform_block_layout("B", lambda i, j: [i * 6 + j])
    assert "B[v0 // 6, v0 % 6] = A[v0 // 6, v0 % 6] + T.float32(1.0)" in sch.mod.script()
    check(sch, func)


def test_split_and_permute() -> None:
    func = matmul()
    sch = open_schedule(func)
    sch.transform_block_layout("C", lambda i, j, k: [k // 4, j, i, k % 4])
    check(sch, func)


def test_kinds_do_not_mix() -> None:
    sch = open_schedule(matmul())
    block = sch.get_block("C")
    refuses(
        sch, "joins variables of different kinds", "transform_block_layout", block,
        lambda i, j, k: [i, j * 16 + k],
    )


def test_lost_variables() -> None:
    sch = open_schedule(elementwise(4, 6))
    block = sch.get_block("B")
    refuses(sch, "is no bijection", "transform_block_layout", block, lambda i, j: [i])
