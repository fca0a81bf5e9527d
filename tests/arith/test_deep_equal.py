"""Deep equality of expressions, and numbers that agree with it."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import Source
from tvm.arith.deep_equal import ExprNumbers, deep_equal
from tvm.tir import decl_buffer
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y = e.Var("x", "int32"), e.Var("x", "int32")


def test_variables_by_identity() -> None:
    assert deep_equal(x + 1, x + 1)
    assert not deep_equal(x + 1, y + 1)
    assert not deep_equal(x + 1, 1 + x)
    assert not deep_equal(x + 1, x - 1)


def test_literals_by_type_and_value() -> None:
    assert not deep_equal(e.IntImm("int32", 1), e.IntImm("int64", 1))
    assert not deep_equal(e.FloatImm("float32", 0.0), e.FloatImm("float32", -0.0))
    nan = float("nan")
    assert deep_equal(e.FloatImm("float32", nan), e.FloatImm("float32", nan))


def test_loads_by_buffer() -> None:
    a, b = decl_buffer((4,), name="a"), decl_buffer((4,), name="a")
    assert deep_equal(a[x], a[x])
    assert not deep_equal(a[x], b[x])
    assert not deep_equal(e.Call("int32", "tir.clz", [x]), e.Call("int32", "tir.popcount", [x]))


def test_numbers_agree() -> None:
    numbers = ExprNumbers()
    source = Source(7)
    exprs = [source.integer(2) for _ in range(150)]
    for one in exprs:
        assert numbers.expr(numbers.number(one)) is not None
        for other in exprs:
            assert (numbers.number(one) == numbers.number(other)) is deep_equal(one, other)


def test_deep_trees() -> None:
    left, right = x, x
    for i in range(5000):
        left, right = e.Add(left, e.IntImm("int32", i)), e.Add(right, e.IntImm("int32", i))
    assert deep_equal(left, right)
    numbers = ExprNumbers()
    assert numbers.number(left) == numbers.number(right)
    numbers.clear()
    assert len(numbers) == 0
