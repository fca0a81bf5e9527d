"""Torch's symbolic sizes as variables and expressions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tvm import tir
from tvm.error import OpAttributeUnImplemented
from tvm.ir import structural_equal
from tvm.relax.frontend.torch.symbols import Symbols
from tvm.tir.expr import SizeVar

sympy = pytest.importorskip("sympy")
s0, s1, s2 = sympy.symbols("s0 s1 s2", integer=True, positive=True)


def size(expr: Any) -> Any:
    """As torch's SymInt holds its expression."""
    return SimpleNamespace(node=SimpleNamespace(expr=expr))


def test_a_symbol_is_one_variable() -> None:
    symbols = Symbols()
    first, second, number = symbols.shape([size(s0), size(2 * s0 + 1), 7])
    assert isinstance(first, SizeVar)
    assert structural_equal(second, 1 + 2 * first)
    assert number == 7
    assert symbols.extent(size(s0)) is first


def test_an_input_gives_a_symbol_its_value() -> None:
    symbols = Symbols()
    (whole,) = symbols.define([size(3 * s0 + 2)])
    assert str(whole) == "s0_size"
    assert structural_equal(symbols.extent(size(s0)), tir.floordiv(whole - 2, 3))


def test_bounds() -> None:
    symbols = Symbols()
    symbols.define([size(2 * s0), size(s1), size(s2)])
    span = SimpleNamespace(lower=sympy.Integer(2), upper=sympy.Integer(9))
    open_span = SimpleNamespace(lower=sympy.Integer(0), upper=sympy.oo)
    small = SimpleNamespace(lower=sympy.Integer(0), upper=sympy.Integer(7))
    assert symbols.bounds({s0: span, s1: open_span, s2: small}) == {
        "tir_var_lower_bound": {"s0_size": 4, "s2_size": 0},
        "tir_var_upper_bound": {"s0_size": 18, "s2_size": 7},
    }


def test_what_depends_on_values_is_learned() -> None:
    symbols, found = Symbols(), SizeVar("count", "int64")
    symbols.learn([size(s0)], [found])
    assert symbols.extent(size(s0)) is found


def test_other_functions_are_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match=r"found: sin\(s0\)"):
        Symbols().extent(size(sympy.sin(s0)))
