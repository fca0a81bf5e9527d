"""Results that are remembered are what simplification makes anew."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tvm import tir
from tvm.arith import Analyzer, simplified_before
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.span import SourceName, Span
from tvm.ir.structural import structural_equal
from tvm.tir.functor import substitute

from .fuzz import Source

pytestmark = pytest.mark.pure


def _simplified(expr: PrimExpr, ranges: Mapping[tir.Var, Range]) -> PrimExpr:
    analyzer = Analyzer()
    analyzer.bind_all(ranges)
    return analyzer.simplify(expr)


def _renewed(
    expr: PrimExpr, ranges: Mapping[tir.Var, Range]
) -> tuple[PrimExpr, dict[tir.Var, Range]]:
    names = {var: var.copy_with_suffix("_") for var in ranges}
    return substitute(expr, names), {names[var]: dom for var, dom in ranges.items()}


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions(seed: int) -> None:
    source = Source(seed)
    ranges = source.ranges()
    for _ in range(6):
        expr = source.integer(4)
        simplified_before.clear()
        fresh = _simplified(expr, ranges)
        assert structural_equal(_simplified(expr, ranges), fresh, map_free_vars=False)
        other, other_ranges = _renewed(expr, ranges)
        again = _simplified(other, other_ranges)
        simplified_before.clear()
        expected = _simplified(other, other_ranges)
        assert structural_equal(again, expected, map_free_vars=False), (expr, again, expected)


def test_what_differs_in_what_is_known_is_asked_anew() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    quotient = tir.floordiv(x, 8)
    ends: list[dict[tir.Var, Range]] = [{x: Range(0, 8)}, {x: Range(0, 9)}, {}]
    found = [_simplified(quotient, ranges) for ranges in ends]
    assert [isinstance(result, tir.IntImm) for result in found] == [True, False, False]
    analyzer = Analyzer()
    with analyzer.constraint_scope(x < y):
        assert analyzer.can_prove(x + 1 <= y)
    assert not analyzer.can_prove(x + 1 <= y)
    with analyzer.constraint_scope(x < y):
        assert analyzer.can_prove(x + 1 <= y)


def test_symbolic_ranges_belong_to_the_question() -> None:
    for bound in (True, False, True):
        n, m, i = tir.SizeVar("n", "int32"), tir.SizeVar("m", "int32"), tir.Var("i", "int32")
        analyzer = Analyzer()
        analyzer.bind(i, Range(0, n if bound else m))
        assert analyzer.can_prove(i < n) == bound


def test_a_kind_of_variable_belongs_to_the_question() -> None:
    for kind, known in ((tir.SizeVar, True), (tir.Var, False), (tir.SizeVar, True)):
        assert Analyzer().can_prove(kind("n", "int64") + 1 > 0) == known


def test_spans_are_of_one_place() -> None:
    x = tir.Var("x", "int32")
    plain = tir.Add(tir.Mul(x, tir.const(2)), x)
    noted = tir.Add(tir.Mul(x, tir.const(2)), x, Span(SourceName("model"), 1, 1, 1, 2))
    asked = [simplified_before.question_of(Analyzer(), e, "simplify") for e in (plain, noted)]
    assert [question is None for question in asked] == [False, True]


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simplified_before, "MAX_RESULTS", 10)
    simplified_before.clear()
    x = tir.Var("x", "int32")
    for i in range(50):
        Analyzer().simplify(x * 2 + x * i)
    assert len(simplified_before._results) <= 10
