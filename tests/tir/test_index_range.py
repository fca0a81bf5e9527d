"""Ranges of indices over a box."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir import Range
from tvm.tir import IndexMap
from tvm.tir.functor import substitute
from tvm.tir.index_range import range_of

pytestmark = pytest.mark.pure

n = tir.SizeVar("n", "int64")
i, j = tir.Var("i", "int64"), tir.Var("j", "int64")
ONE, TWO = tir.const(1, "int64"), tir.const(2, "int64")


def at(value: tir.PrimExpr, size: int) -> int:
    return int(Analyzer().simplify(substitute(value, {n: tir.const(size, "int64")})))


@pytest.mark.parametrize("choose", [tir.if_then_else, tir.Select])
def test_an_extent_may_be_a_choice(choose: Callable[..., tir.PrimExpr]) -> None:
    """A choice without any index is one number: there is room for that, and for no more."""
    rows = choose(n < TWO, n + TWO, n - ONE)
    made = IndexMap.from_func(lambda y, x: [y * rows + x])
    (extent,) = made.map_shape([n, rows])
    for size in (1, 3, 7):
        assert at(extent, size) == size * at(rows, size)


def test_a_choice_by_an_index_has_the_bounds_of_both() -> None:
    box = {i: Range.from_min_extent(tir.const(0, "int64"), n)}
    found = range_of(tir.Select(i < TWO, i, i + n), box, Analyzer())
    assert at(found.min, 5) <= 0
    assert at(found.min + found.extent, 5) >= 10


def test_a_number_may_be_negative() -> None:
    """Only extents of the box are known not to be."""
    box = {v: Range.from_min_extent(tir.const(0, "int64"), n) for v in (i, j)}
    step = tir.if_then_else(n < tir.const(4, "int64"), n + TWO, ONE - n)
    found = range_of(i * step + j, box, Analyzer())
    for size in (1, 3, 5):
        values = [a * at(step, size) + b for a in range(size) for b in range(size)]
        assert (at(found.min, size), at(found.extent, size)) == (
            min(values), max(values) - min(values) + 1
        )  # fmt: skip
