"""Texts of expressions know how tightly they bind."""

from __future__ import annotations

import pytest

from tvm.backend.c_family.code import ADD, ATOM, MUL, UNARY, Code, code

pytestmark = pytest.mark.pure


def test_parentheses_stand_where_an_operator_binds_less_tightly() -> None:
    total = Code("a + b", ADD)
    assert [total.at(level) for level in (ATOM, UNARY, MUL, ADD)] == ["(a + b)"] * 3 + ["a + b"]
    assert f"f({total})" == "f(a + b)"
    assert Code("x").at(ATOM) == "x"


def test_a_plain_text_is_whole() -> None:
    assert code("f(x)").level == ATOM
    kept = Code("a * b", MUL)
    assert code(kept) is kept
