from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul, open_schedule, refuses
from tvm.script import tir as T


def test_reorder_all() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, j, k = sch.get_loops("C")
    sch.reorder(k, j, i)
    names = [sch.get(loop).loop_var.name for loop in sch.get_loops(sch.get_block("C"))]
    assert names == ["k", "j", "i"]
    check(sch, func)


def test_others_keep_their_place() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, _, k = sch.get_loops("C")
    sch.reorder(k, i)
    names = [sch.get(loop).loop_var.name for loop in sch.get_loops(sch.get_block("C"))]
    assert names == ["k", "j", "i"]
    check(sch, func)


def test_loops_of_different_nests() -> None:
    sch = open_schedule(chain())
    i, _ = sch.get_loops("B")
    _, j = sch.get_loops("C")
    refuses(sch, "not in one chain", "reorder", i, j)


def test_loop_given_twice() -> None:
    sch = open_schedule(chain())
    i, _ = sch.get_loops("B")
    refuses(sch, "more than once", "reorder", i, i)


def test_branches_between() -> None:
    sch = open_schedule(chain())
    i, _ = sch.get_loops("C")
    sch.compute_at("B", i)
    _, j = sch.get_loops("C")
    refuses(sch, "holds more than the loop", "reorder", j, i)


def test_the_init_stays_first() -> None:
    sch = open_schedule(matmul())
    i, j, k = sch.get_loops("C")
    fused = sch.fuse(j, k)
    outer, inner = sch.split(fused, factors=[None, 6])
    refuses(sch, "the init of an element would come after", "reorder", inner, outer)
    sch.reorder(outer, i)


@T.prim_func
def overlapping(A: T.Buffer((14, 4), "float32"), B: T.Buffer((14, 4), "float32")) -> None:
    for i, j, k in T.grid(6, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(14, i * 2 + j)
            vk = T.axis.spatial(4, k)
            B[vi, vk] = A[vi, vk] + T.float32(1)


@T.prim_func
def in_steps(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")) -> None:
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(16, j * 4)
            B[vi, vj] = A[vi, vj] + T.float32(1)


def test_bindings_are_affine() -> None:
    sch = open_schedule(in_steps)
    i, j = sch.get_loops("B")
    text = refuses(sch, "is required to have an affine binding", "reorder", j, i).splitlines()
    marked = next(n for n, line in enumerate(text) if line.endswith("# tir.Block#0"))
    assert [line.strip() for line in text[marked + 1 : marked + 3]] == [
        'with T.block("B"):', "^" * 18,
    ]  # fmt: skip


def test_loops_around_may_overlap() -> None:
    sch = open_schedule(overlapping)
    i, j, k = sch.get_loops("B")
    sch.reorder(k, j, i)  # a place that is written twice gets the same value both times
    assert [sch.get(loop).loop_var.name for loop in sch.get_loops("B")] == ["k", "j", "i"]
    check(sch, overlapping)
