"""`a == b` is a bool or an expression, as it is asked."""

from __future__ import annotations

import pytest

from tvm import tir

pytestmark = pytest.mark.pure


def test_as_bool_it_is_identity() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert x == x
    assert not bool(x == y)
    assert x != y
    assert tir.const(3) == tir.const(3)
    assert tir.const(3.0) == 3


def test_as_expression_it_compares() -> None:
    x = tir.Var("x", "int32")
    assert isinstance(tir.all(x == 1, x > 0).a, tir.EQ)
    assert isinstance((x != 1).asobject(), tir.NE)
    assert (x == 1).dtype == "bool"
    assert isinstance(x.equal(2), tir.EQ)


def test_python_logic_on_expressions_is_refused() -> None:
    x = tir.Var("x", "int32")
    with pytest.raises(ValueError, match="Cannot use and / or / not operator to Expr"):
        bool(x < 3)


def test_values_of_enumerations_become_literals() -> None:
    value = tir.IntImmEnum(3)
    assert value.asobject().dtype == "int32"
    sum_of = tir.Var("x", "int32") + value
    assert str(sum_of) == "x + 3"
