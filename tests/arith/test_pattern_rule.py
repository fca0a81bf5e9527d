"""Patterns match, build, and are found by the kinds of the operands."""

from __future__ import annotations

import pytest

from tvm.arith import Analyzer
from tvm.arith.deep_equal import deep_equal
from tvm.arith.pattern_rule import (
    SLOTS,
    LiteralOverflow,
    RuleTable,
    broadcast,
    c1,
    c2,
    lanes,
    lo,
    max_,
    min_,
    rule,
    x,
    y,
    z,
)
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
a, b = e.Var("a", "int32"), e.Var("b", "int32")


def matches(pattern, expr) -> bool:
    return pattern.match(expr, [None] * SLOTS)


def test_one_name_one_expression() -> None:
    assert matches(x + x, (a * 2) + (a * 2))
    assert not matches(x + x, e.Add(a, b))
    assert matches(x + y, e.Add(a, a))


def test_literals() -> None:
    assert matches(x * c1, a * 3)
    assert not matches(x * c1, a * b)
    assert matches(x * 3, a * 3)
    assert not matches(x * 3, a * 4)
    assert matches(broadcast(x, lanes), e.Broadcast(a, 4))


def test_result_is_worked_out() -> None:
    env = [None] * SLOTS
    assert (x * c1 + c2).match(a * 3 + 4, env)
    simplifier = Analyzer().rewriter
    built = (x + c1 * c2).build(env, simplifier, a.dtype)
    assert deep_equal(built, a + 12)
    assert (c1 < c2).number(env, simplifier)


def test_too_large_literal_stops_the_rule() -> None:
    env = [None] * SLOTS
    assert (x * c1).match(a * 0x7FFFFFFF, env)
    with pytest.raises(LiteralOverflow):
        (x + c1 * c1).build(env, Analyzer().rewriter, a.dtype)


def test_commutative_operands_are_turned() -> None:
    found = {repr(one.lhs) for one in rule((x + y) - x, y)}
    assert found == {"((x + y) - x)", "((y + x) - x)"}
    assert len(rule(x + c1, x)) == 1, "literals stand on the right"
    assert len(rule(x + y * z, x, ordered=True)) == 1


def test_turned_extremum_turns_the_result() -> None:
    found = {repr(one.lhs): repr(one.rhs) for one in rule(min_(x, y) - x, min_(0, y - x))}
    assert found["(min(y, x) - x)"] == "min((y - x), 0)"
    assert {repr(one.rhs) for one in rule(max_(min_(x, y), x), x)} == {"x"}


def test_candidates_by_kind() -> None:
    guarded = rule(x + y, x, when=lo(x) > 0, ordered=True)
    table = RuleTable(rule(x + c1, x), rule((x * y) + z, z, ordered=True), guarded)
    u, v, one = e.Var("u", "int32"), e.Var("v", "int32"), e.IntImm("int32", 1)
    assert len(table.candidates(u, one)) == 2
    assert len(table.candidates(u, v)) == 1
    assert len(table.candidates(e.Mul(u, v), v)) == 2
    digits = RuleTable(rule((x // c1) * c1 + y, y), rule((x * c1) + y, y))
    assert len(digits.candidates(e.Mul(e.FloorDiv(u, one), one), v)) == 2
    assert len(digits.candidates(e.Mul(u, one), v)) == 1
    assert len(digits.candidates(e.Mul(u, v), v)) == 0
    assert "when" in repr(table.rules[-1])
