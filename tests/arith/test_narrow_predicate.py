"""Conditions narrowed to be free of some variables."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import evaluate
from tvm import tir
from tvm.arith import _ffi_api
from tvm.arith.narrow_predicate import narrow_predicate_expression
from tvm.ir import Range
from tvm.tir import expr as e
from tvm.tir.functor import uses_any

pytestmark = pytest.mark.pure
i, n, m = (e.Var(name, "int32") for name in "inm")


@pytest.mark.parametrize(
    "cond",
    [
        i < n,
        i <= n,
        n < i,
        i >= n + 2,
        e.EQ(i, n),
        e.NE(i, n),
        tir.And(i < n, m > i),
        tir.Or(i < n, m > i),
        tir.Not(i * 2 < n),
        tir.Not(tir.And(i < n, i < m)),
        tir.floordiv(i, 3) < n,
        n < m,
    ],
)
def test_implies(cond) -> None:
    found = narrow_predicate_expression(cond, {i: Range(0, 6)})
    tight = True
    for a in range(-3, 10):
        for b in range(-3, 10):
            holds = evaluate(found, {n: a, m: b})
            always = all(evaluate(cond, {i: k, n: a, m: b}) for k in range(6))
            assert always or not holds, f"{cond} -> {found} at n={a}, m={b}"
            tight = tight and bool(holds) == always
    assert tight or isinstance(cond, (e.Or, e.NE, e.Not, e.EQ))


def test_free_conditions_stay() -> None:
    cond = n < m
    assert _ffi_api.NarrowPredicateExpression(cond, {i: Range(0, 6)}) is cond


def test_unbounded() -> None:
    call = e.Call("int32", "tir.popcount", [i])
    assert narrow_predicate_expression(call < n, {i: Range(0, 6)}).value == 0


def test_comparisons_as_they_are_written() -> None:
    for cond in (i == n, i != n):
        assert not uses_any(narrow_predicate_expression(cond, {i: Range(0, 6)}), [i])
