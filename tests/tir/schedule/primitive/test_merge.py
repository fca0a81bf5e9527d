from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul_relu, open_schedule, refuses, stencil
from tvm.script import tir as T


def test_outer_loops() -> None:
    func = chain()
    sch = open_schedule(func)
    tops = [sch.get_loops(name)[0] for name in ("B", "C", "D")]
    merged = sch.merge(*tops)
    assert sch.get(merged).loop_var.name == "i_m"
    assert len(sch.get_child_blocks(merged)) == 3
    check(sch, func)


def test_whole_nests() -> None:
    func = chain()
    sch = open_schedule(func)
    merged = sch.merge(sch.get_loops("B")[1], sch.get_loops("C")[1])
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(merged)] == ["B", "C"]
    check(sch, func)


def test_what_is_read_ahead() -> None:
    sch = open_schedule(stencil(16))
    first, second = sch.get_loops("B")[0], sch.get_loops("C")[0]
    refuses(sch, "run 18 and 16 times", "merge", first, second)
    sch = open_schedule(matmul_relu())
    i, j, _ = sch.get_loops("C")
    refuses(sch, "different depths", "merge", j, sch.get_loops("D")[0])
    refuses(sch, "fewer than two", "merge", i)


def test_order_of_what_stands_between() -> None:
    sch = open_schedule(chain())
    first, last = sch.get_loops("B")[0], sch.get_loops("D")[0]
    refuses(sch, "depend on what is not ready", "merge", first, last)


def test_sums_that_are_not_complete() -> None:
    sch = open_schedule(matmul_relu(6, 8, 8))
    _, j, k = sch.get_loops("C")
    sch.reorder(k, j)
    _, k, _ = sch.get_loops(sch.get_block("C"))
    refuses(sch, "what is not ready", "merge", k, sch.get_loops("D")[1])


def test_loops_among_constants() -> None:
    @T.prim_func
    def before(A: T.Buffer((4,)), C: T.Buffer((4,))):
        K_data = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
        K = T.decl_buffer((4,), data=K_data)
        B = T.alloc_buffer((4,))
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + K[vi]
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi] * K[vi]

    sch = open_schedule(before)
    merged = sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(merged)] == ["B", "C"]
    check(sch, before)


def test_sums_that_are_updated_in_later_rounds() -> None:
    @T.prim_func
    def func(A: T.Buffer((3, 4), "float32"), B: T.Buffer((12,), "float32")):
        S = T.alloc_buffer((3,))
        for i in range(3):
            with T.block("init"):
                v = T.axis.spatial(3, i)
                S[v] = 0.0
        for i, k in T.grid(3, 4):
            with T.block("update"):
                v, r = T.axis.remap("SR", [i, k])
                S[v] = S[v] + A[v, r]
        for i in range(12):
            with T.block("out"):
                v = T.axis.spatial(12, i)
                B[v] = S[v // 4]

    sch = open_schedule(func)
    fused = sch.fuse(*sch.get_loops("update"))
    reason = "would read what is not ready: block 'update' updates it while 'r' runs"
    refuses(sch, reason, "merge", fused, sch.get_loops("out")[0])
