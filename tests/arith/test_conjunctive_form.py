"""Conditions as conjunctions of alternatives, and facts of one side for the other."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import Source, Undefined, evaluate, points
from tvm import tir
from tvm.arith import Analyzer, Extension
from tvm.arith.deep_equal import deep_equal
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y = e.Var("x", "int32"), e.Var("y", "int32")
a, b, c = (e.Var(name, "bool") for name in "abc")
And, Or, Not = tir.And, tir.Or, tir.Not


BOTH = Extension.ConvertBooleanToAndOfOrs | Extension.ApplyConstraintsToBooleanBranches


def simple(expr, extension: Extension):
    analyzer = Analyzer()
    analyzer.enabled_extensions = extension
    return analyzer.rewrite_simplify(expr)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Or(And(a, b), c), And(Or(a, c), Or(b, c))),
        (And(Or(a, b), Or(a, Not(b))), a),
        (And(a, Or(a, b)), a),
        (Or(And(x < 5, y < 3), And(x < 5, y >= 3)), x < 5),
        (And(Or(a, x < 5), Or(a, x < 3)), Or(a, x < 3)),
        (And(Or(a, x < 5), Or(a, x >= 5)), a),
    ],
)
def test_conjunctive_form(before, after) -> None:
    found = simple(before, BOTH)
    assert deep_equal(found, after), found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (And(x < 5, Or(x < 9, a)), x < 5),
        (And(Or(x < 9, a), x < 5), x < 5),
        (Or(x < 5, And(x >= 5, a)), Or(x < 5, a)),
        (And(e.EQ(x, 3), e.EQ(x * 2, y)), None),
    ],
)
def test_facts_of_the_other_side(before, after) -> None:
    found = simple(before, Extension.ApplyConstraintsToBooleanBranches)
    assert after is None or deep_equal(found, after), found


def test_off_at_first() -> None:
    expr = Or(And(a, b), c)
    assert simple(expr, Extension.NoExtensions) is expr


def test_random_conditions_keep_their_value() -> None:
    for seed in range(120):
        source = Source(seed)
        ranges, expr = source.ranges(), source.boolean(3)
        for extension in (BOTH, *[option for option in Extension if option.value in (2, 4)]):
            found = simple(expr, extension)
            for values in points(ranges):
                try:
                    assert evaluate(found, values) == evaluate(expr, values), f"seed {seed}"
                except Undefined:
                    continue
