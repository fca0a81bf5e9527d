"""Bounds deduced from conditions."""

from __future__ import annotations

import itertools

import pytest

from tests.arith.fuzz import evaluate
from tvm import tir
from tvm.arith import IntervalSet, deduce_bound, neg_inf, pos_inf
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
a, b, c, d = (e.Var(name, "int32") for name in "abcd")


@pytest.mark.parametrize(
    ("cond", "low", "high"),
    [
        (a + b < 10, None, "9 - b"),
        (a - b >= 3, "b + 3", None),
        (b - a > 0, None, "b - 1"),
        (a * 4 <= 10, None, "2"),
        (a * 4 >= 10, "3", None),
        (a * -2 < 7, "-3", None),
        (tir.floordiv(a, 8) < 3, None, "23"),
        (tir.floordiv(a, 8) >= b, "b * 8", None),
        (tir.floordiv(a, -7) > 1, None, "-14"),
        (tir.floordiv(a, -7) >= 1, None, "-7"),
        (tir.floordiv(a, -7) < 1, "-6", None),
        (tir.floordiv(a, -7) <= 1, "-13", None),
        (a == b + 1, "b + 1", "b + 1"),
        (3 > a, None, "2"),
        (a * 2 + b < a + 9, None, "8 - b"),
    ],
)
def test_deduced(cond, low, high) -> None:
    found = deduce_bound(a, cond, {}, {})
    assert isinstance(found, IntervalSet)
    assert found.min_value is neg_inf() if low is None else str(found.min_value) == low
    assert found.max_value is pos_inf() if high is None else str(found.max_value) == high


def test_nothing() -> None:
    for cond in (a * a < 4, tir.min(a, 3) < b, a != 3, b < 3, a * b < 7, a * 2 == 7):
        assert deduce_bound(a, cond, {}, {}).is_nothing(), cond


def test_relaxed_variables_leave_the_result() -> None:
    for cond in (a * 4 + b - c < 30, a + b * 2 >= c, a * -3 + c < b + 9, b + c <= a * 2):
        relax = {b: Range(0, 4), c: Range(2, 5)}
        found = deduce_bound(a, cond, {}, relax)
        low = int(found.min_value) if found.has_lower_bound() else -60
        high = int(found.max_value) if found.has_upper_bound() else 60
        for value in range(-60, 61):
            always = all(
                evaluate(cond, {a: value, b: p, c: q})
                for p, q in itertools.product(range(0, 4), range(2, 5))
            )
            inside = low <= value <= high
            assert always or not inside, f"{cond} at {value}"
            assert inside or not always, f"{cond} at {value}: the set is too small"


def test_hints_give_signs() -> None:
    assert deduce_bound(a, a * d <= 20, {}, {}).is_nothing()
    found = deduce_bound(a, a * d <= 20, {d: Range(1, 9)}, {})
    assert str(found.max_value) == "20 // d"
