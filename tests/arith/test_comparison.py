"""Comparisons decided by bounds of differences and by chains of facts."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer, ProofStrength
from tvm.arith.comparison import Order
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z, w, n = (e.Var(name, "int32") for name in "xyzwn")


def order(analyzer: Analyzer, a, b) -> Order:
    return analyzer.comparisons.order(e.as_expr(a), e.as_expr(b))


def test_sets_of_orders() -> None:
    assert [o for o in Order if o.at_most] == [Order.LESS, Order.EQUAL, Order.AT_MOST]
    assert [o for o in Order if o.at_least] == [Order.EQUAL, Order.GREATER, Order.AT_LEAST]
    assert [o for o in Order if o.differs] == [Order.LESS, Order.GREATER, Order.DIFFERS]


def test_differences() -> None:
    analyzer = Analyzer()
    assert order(analyzer, x, x) is Order.EQUAL
    assert order(analyzer, x + 1, x) is Order.GREATER
    assert order(analyzer, x * 4 + y, x * 4 + y + 3) is Order.LESS
    assert order(analyzer, x, y) is Order.UNKNOWN
    assert order(analyzer, x * 2, y * 4 + 1) is Order.DIFFERS
    assert order(analyzer, x * 6, e.IntImm("int32", 3)) is Order.DIFFERS
    analyzer.bind(x, Range(0, 8))
    assert order(analyzer, x, e.IntImm("int32", 7)) is Order.AT_MOST
    assert order(analyzer, x, e.IntImm("int32", 0)) is Order.AT_LEAST


def test_chains_of_facts() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(tir.all(x < y, y + 2 <= z, z < w)):
        assert order(analyzer, x, y) is Order.LESS
        assert order(analyzer, x + 4, w) is Order.UNKNOWN
        analyzer.comparisons.symbolic = True
        assert order(analyzer, x + 4, w) is Order.AT_MOST
        assert order(analyzer, w, x) is Order.GREATER
        assert order(analyzer, x, n) is Order.UNKNOWN
    assert order(analyzer, x, y) is Order.UNKNOWN


def test_bounds_travel_along_facts() -> None:
    analyzer = Analyzer()
    analyzer.bind(z, Range(0, 10))
    with analyzer.constraint_scope(tir.all(x < y, y < z)):
        assert order(analyzer, x, e.IntImm("int32", 8)) is Order.LESS


def test_sums_of_several_variables() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(x * 16 + y < n):
        assert order(analyzer, x * 16 + y, n) is Order.LESS
        assert order(analyzer, x * 32 + y * 2, n * 2 - 1) is Order.LESS
        assert order(analyzer, x * 16 + y, n - 1) is Order.AT_MOST


def test_symbolic_ranges() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, n))
    assert order(analyzer, x, n) is Order.UNKNOWN
    analyzer.comparisons.symbolic = True
    assert order(analyzer, x, n) is Order.LESS
    analyzer.bind(y, Range.from_min_extent(n, 4))
    assert order(analyzer, y, n + 3) is Order.AT_MOST
    assert order(analyzer, x, y) is Order.LESS


def test_the_range_of_a_variable_counts_by_itself() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, n))
    assert analyzer.can_prove(x < n)
    assert analyzer.can_prove(x + 1 <= n)
    assert not analyzer.can_prove(n > 0), "true only where x has a value"
    assert analyzer.can_prove(n > 0, ProofStrength.SYMBOLIC_BOUND)
    analyzer.bind(x, Range(0, n + 3), allow_override=True)
    assert not analyzer.can_prove(x < n), "the last range counts"
    assert analyzer.can_prove(x < n + 3)
    analyzer.bind(y, Range.from_min_extent(z, w))
    assert analyzer.can_prove(z <= y)
    assert analyzer.can_prove(y < z + w)


def test_ranges_by_quotients() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, (n + 31) // 32))
    analyzer.bind(y, Range(0, 32))
    assert analyzer.can_prove(x * 32 < n)
    assert not analyzer.can_prove(x * 32 + 1 < n)
    tiles = (n + 31) // 32 * 32
    assert analyzer.can_prove(x * 32 + y < tiles)
    assert not analyzer.can_prove(x * 32 + y + 1 < tiles)
