from __future__ import annotations

import pytest

from tests.tir.schedule.cases import check, elementwise, matmul, open_schedule, refuses
from tvm import te, tir
from tvm.tir.stmt import For


def test_split_exactly() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, _, k = sch.get_loops("C")
    outer, inner = sch.split(i, factors=[None, 4])
    assert [sch.get(loop).extent for loop in (outer, inner)] == [2, 4]
    sch.split(k, factors=[2, None, 2])
    assert len(sch.get_loops(sch.get_block("C"))) == 6
    check(sch, func)


def test_a_remainder_gets_a_predicate() -> None:
    func = elementwise(10)
    sch = open_schedule(func)
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[None, 4])
    assert "T.where(i0_0 * 4 + i0_1 < 10)" in sch.mod.script()
    check(sch, func)


def test_without_predication() -> None:
    sch = open_schedule(elementwise(10))
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[None, 4], disable_predication=True)
    assert "T.where" not in sch.mod.script()


def test_symbolic_extent_that_divides_needs_no_predicate() -> None:
    n = te.var("n")
    a = te.placeholder((n * 8,), name="A")
    b = te.compute((n * 8,), lambda i: a[i] + 1.0, name="B")
    sch = open_schedule(te.create_prim_func([a, b]))
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[None, 4])
    assert "T.where" not in sch.mod.script()


def test_unit_loops_stay_in_the_binding() -> None:
    sch = open_schedule(elementwise(8))
    (i,) = sch.get_loops("B")
    sch.split(i, factors=[1, 8])
    assert "i0_0 * 8 + i0_1" in sch.mod.script()


def test_factors_that_do_not_cover() -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    message = refuses(sch, "factors [4, 3] do not cover the loop", "split", i, [4, 3])
    assert "legal: leave one factor as None" in message
    assert "^^^" in message


@pytest.mark.parametrize(
    ("factors", "reason"),
    [
        ([None, None], "2 factors are None"),
        ([None, 0], "not known to be positive"),
        ([], "no factors"),
    ],
)
def test_bad_factors(factors: list[int | None], reason: str) -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    refuses(sch, reason, "split", i, factors)


def test_annotated_loops_are_not_split() -> None:
    sch = open_schedule(elementwise(16))
    (i,) = sch.get_loops("B")
    sch.annotate(i, "key", 1)
    refuses(sch, "has annotations", "split", i, [None, 4])


def test_int64_loops() -> None:
    a = te.placeholder((tir.IntImm("int64", 16),), name="A")
    shape = (tir.IntImm("int64", 16),)
    func = te.create_prim_func([a, te.compute(shape, lambda i: a[i] + 1.0, name="B")])
    sch = open_schedule(func)
    (i,) = sch.get_loops("B")
    loop: For = sch.get(sch.split(i, factors=[None, 4])[1])
    assert loop.loop_var.dtype == "int64"
    check(sch, func)
