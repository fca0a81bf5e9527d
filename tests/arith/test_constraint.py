"""Conditions taken apart into facts, and put back."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import Source, Undefined, evaluate, points
from tvm import tir
from tvm.arith import Analyzer
from tvm.arith.constraint import facts_in
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z, n = (e.Var(name, "int32") for name in "xyzn")
fld, flm = tir.floordiv, tir.floormod


def bounds(analyzer: Analyzer, expr) -> tuple[int, int]:
    return analyzer.bounds.of(expr)


def test_facts() -> None:
    parts = facts_in(tir.all(x < 1, tir.likely(tir.And(y < 2, z < 3))))
    assert [str(part) for part in parts] == ["x < 1", "y < 2", "z < 3"]


def test_what_facts_say() -> None:
    analyzer = Analyzer()
    cases = [
        (tir.all(x >= 2, x < 9), x, (2, 8)),
        (tir.all(x >= 0, y >= 0, x * 16 + y < 100), x, (0, 6)),
        (tir.all(x >= 0, x != 0, x < 5), x, (1, 4)),
        (x == 7, x, (7, 7)),
        (tir.all(fld(x, 4) >= 1, fld(x, 4) <= 2), x, (4, 11)),
        (tir.max(x, y) < 5, y, (-(2**31), 4)),
        (tir.min(x, y) > 5, y, (6, 2**31 - 1)),
        (tir.all(x >= 1, flm(y, 8) < x, x < 3), flm(y, 8), (0, 1)),
    ]
    for fact, expr, expected in cases:
        with analyzer.constraint_scope(fact):
            assert bounds(analyzer, expr) == expected, fact
    assert bounds(analyzer, x) == (-(2**31), 2**31 - 1)
    assert not analyzer.literals
    assert not analyzer.bounds.facts


def test_nested_scopes() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(x < 10):
        with analyzer.constraint_scope(x < 5):
            assert bounds(analyzer, x)[1] == 4
        assert bounds(analyzer, x)[1] == 9


def test_a_limit_by_a_quotient_is_one_of_the_multiple() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(x < tir.floordiv(n + 5, 6)):
        assert analyzer.can_prove(x * 6 < n)
        assert not analyzer.can_prove(x * 6 + 1 < n)
    with analyzer.constraint_scope(x <= tir.floordiv(n, 6)):
        assert analyzer.can_prove(x * 6 <= n)
        assert not analyzer.can_prove(x * 6 < n)
    with analyzer.constraint_scope(tir.floordiv(x, 4) < n):
        assert analyzer.can_prove(x < n * 4)
        assert not analyzer.can_prove(x < n * 4 - 1)
    with analyzer.constraint_scope(tir.floordiv(x, 4) <= n):
        assert analyzer.can_prove(x < n * 4 + 4)
        assert not analyzer.can_prove(x < n * 4 + 3)
    assert not analyzer.can_prove(x * 6 < n)


def test_facts_hold_for_random_conditions() -> None:
    for seed in range(600):
        source = Source(seed)
        ranges, fact, expr = source.ranges(), source.boolean(2), source.integer(2)
        analyzer = Analyzer()
        analyzer.bind_all(ranges)
        with analyzer.constraint_scope(fact):
            low, high = analyzer.bounds.of(expr)
            coeff, base = analyzer.residue(expr)
            for values in points(ranges):
                try:
                    if not evaluate(fact, values):
                        continue
                    value = evaluate(expr, values)
                except Undefined:
                    continue
                assert low <= value <= high, f"seed {seed}"
                assert (value - base) % coeff == 0 if coeff else value == base, f"seed {seed}"


def test_remainders_move_the_ends_of_a_range() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(1, 100))
    with analyzer.constraint_scope(e.EQ(tir.floormod(x, 16), 0)):
        bound = analyzer.const_int_bound(x)
        assert (bound.min_value, bound.max_value) == (16, 96)
        assert analyzer.can_prove(x >= 16)
    assert not analyzer.can_prove(x >= 16)
    with analyzer.constraint_scope(e.EQ(x, 7)):
        assert analyzer.modular_set(x).base == 7


def test_truncated_remainders_are_remainders_too() -> None:
    analyzer = Analyzer()

    def residue(expr) -> tuple[int, int]:
        found = analyzer.modular_set(expr)
        return found.coeff, found.base

    with analyzer.constraint_scope(tir.truncmod(x, 7) == 2):
        assert residue(x) == (7, 2)
        with analyzer.constraint_scope(tir.truncmod(x, 5) == 1):
            assert residue(x) == (35, 16)
        with analyzer.constraint_scope(tir.truncmod(y, 14) == -3):
            assert residue(x * 2 + y) == (14, 1)
        assert residue(x) == (7, 2)
    assert residue(x) == (1, 0)


def test_limits_of_sums_hold_where_the_sums_are_parts() -> None:
    total = x * 4 + y
    for condition, before, after in (
        (total >= 2, tir.max(0, total - 2), total - 2),
        (e.IntImm("int32", 2) < total, total - tir.max(0, total - 2), e.IntImm("int32", 2)),
        (total < 6, tir.min(total, 8), total),
        (x - y <= 3, tir.max(x - y, 3) + x, x + 3),
        (total < 6, tir.min(total, 4), tir.min(total, 4)),
    ):
        analyzer = Analyzer()
        with analyzer.constraint_scope(condition):
            assert str(analyzer.simplify(before)) == str(Analyzer().simplify(after))
