"""Blocks with predicates move without losing them."""

from __future__ import annotations

import pytest

from tests.tir.schedule.cases import check, open_schedule, refuses
from tvm import te
from tvm.script import tir as T
from tvm.tir import PrimFunc
from tvm.tir.schedule import Schedule


def sliced() -> PrimFunc:
    """The first 10 of 16 sums, and their doubles."""
    a = te.placeholder((16,), name="A")
    made = te.compute((16,), lambda i: a[i] * 2.0, name="made")
    added = te.compute((16,), lambda i: made[i] + 1.0, name="added")
    part = te.compute((10,), lambda i: added[i], name="part")
    twice = te.compute((10,), lambda i: part[i] * 2.0, name="twice")
    return te.create_prim_func([a, twice])


@pytest.mark.parametrize("factor", [4, 5, 7, 16])
def test_a_consumer_that_was_cut(factor: int) -> None:
    func = sliced()
    sch = open_schedule(func)
    sch.reverse_compute_inline("part")  # `added` now writes where i < 10 alone
    outer, _ = sch.split(sch.get_loops("made")[0], [None, factor])
    sch.reverse_compute_at("added", outer)
    check(sch, func)


@pytest.mark.parametrize("fused", [False, True])
def test_the_loops_may_have_been_split(fused: bool) -> None:
    func = sliced()
    sch = open_schedule(func)
    sch.reverse_compute_inline("part")
    inner = sch.split(sch.get_loops("added")[0], [None, 3])
    if fused:
        sch.fuse(*inner)
    outer, _ = sch.split(sch.get_loops("made")[0], [None, 4])
    sch.reverse_compute_at("added", outer)
    check(sch, func)


def test_a_producer_that_was_cut() -> None:
    func = sliced()
    sch = open_schedule(func)
    sch.reverse_compute_inline("part")
    outer, _ = sch.split(sch.get_loops("twice")[0], [None, 4])
    sch.compute_at("added", outer)
    check(sch, func)


def test_a_predicate_that_the_domains_say_is_dropped() -> None:
    func = sliced()
    sch = open_schedule(func)
    sch.split(sch.get_loops("added")[0], [None, 3])
    outer, _ = sch.split(sch.get_loops("made")[0], [None, 4])
    sch.reverse_compute_at("added", outer)
    assert "T.where" not in sch.mod.script()
    check(sch, func)


@T.prim_func
def told_by_a_loop(a: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")):
    b = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            b[v] = a[v] + T.float32(1)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            T.where(2 <= j)
            c[v] = b[v] * T.float32(2)


def test_a_predicate_that_the_variables_do_not_tell() -> None:
    sch = Schedule(told_by_a_loop)
    block, (loop,) = sch.get_block("C"), sch.get_loops(sch.get_block("B"))
    told = "runs where 2 <= j, which its variables do not tell"
    refuses(sch, told, "reverse_compute_at", block, loop)


@T.prim_func
def once_of_four_times(a: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")):
    b = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            b[v] = a[v] + T.float32(1)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            T.where(j < 1)
            c[v] = b[v] * T.float32(2)


def test_a_loop_of_which_one_iteration_runs_is_left_out() -> None:
    sch = Schedule(once_of_four_times)
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0])
    assert "T.where" not in sch.mod.script()
    check(sch, once_of_four_times)

