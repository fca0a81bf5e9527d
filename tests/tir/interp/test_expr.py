from __future__ import annotations

import numpy as np
import pytest

from tvm import te, tir
from tvm.error import TVMError
from tvm.tir import interp

pytestmark = pytest.mark.pure

X, Y = tir.Var("x", "int32"), tir.Var("y", "int32")


def value(expr: tir.PrimExpr, x: int = 0, y: int = 0) -> object:
    return interp.evaluate(expr, {X: x, Y: y})


@pytest.mark.parametrize(("x", "y"), [(7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5)])
def test_division_rounds_as_said(x: int, y: int) -> None:
    assert value(tir.floordiv(X, Y), x, y) == x // y
    assert value(tir.floormod(X, Y), x, y) == x % y
    assert value(tir.truncdiv(X, Y), x, y) == int(x / y)
    assert value(tir.truncmod(X, Y), x, y) == x - int(x / y) * y


def test_integers_wrap() -> None:
    assert value(X + 1, 2**31 - 1) == -(2**31)
    small = tir.Var("s", "int8")
    assert interp.evaluate(small * tir.const(2, "int8"), {small: 100}) == -56
    odd = tir.Var("o", "int4")
    assert interp.evaluate(tir.Add(odd, odd), {odd: 5}) == -6


def test_logic_looks_no_further_than_needed() -> None:
    divides = tir.floordiv(10, X) > 1
    assert value(tir.all(X > 0, divides), 0) is False
    assert value(tir.any(X <= 0, divides), 0) is True
    with pytest.raises(ZeroDivisionError):
        value(divides, 0)


def test_choice_evaluates_one_side() -> None:
    assert value(tir.if_then_else(X > 0, tir.floordiv(10, X), -1), 0) == -1
    assert value(tir.Select(X > 0, tir.floordiv(10, X), -1), 0) == -1
    assert value(tir.Select(X > 0, X, -X), -4) == 4


def test_let() -> None:
    v = tir.Var("v", "int32")
    assert value(tir.Let(v, X + 1, v * v), 4) == 25


def test_casts() -> None:
    assert value(tir.Cast("float32", X), 3) == 3.0
    assert value(tir.Cast("int8", X), 300) == 44
    assert value(tir.Cast("bool", X), 5) is True
    y = tir.Var("y", "float32")
    assert interp.evaluate(tir.Cast("int32", y), {y: -2.9}) == -2
    assert interp.evaluate(tir.Cast("bfloat16", y), {y: 1.0009765625}) == 1.0


def test_vectors() -> None:
    ramp = tir.Ramp(X, 1, 4)
    np.testing.assert_array_equal(value(ramp + tir.Broadcast(Y, 4), 1, 10), [11, 12, 13, 14])
    picked = tir.Shuffle([ramp, tir.Broadcast(Y, 2)], [5, 0, 3])
    np.testing.assert_array_equal(value(picked, 1, 10), [10, 1, 4])
    assert value(tir.Shuffle([ramp], [2]), 1) == 3
    np.testing.assert_array_equal(
        value(tir.Select(ramp > tir.Broadcast(Y, 4), ramp, tir.Broadcast(Y, 4)), 0, 2), [2, 2, 2, 3]
    )


def test_long_chains_need_no_recursion() -> None:
    left: tir.PrimExpr = X
    right: tir.PrimExpr = X
    for _ in range(5000):
        left, right = left + Y, tir.Add(Y, right)
    assert value(left, 1, 2) == value(right, 1, 2) == 10001


def test_refuses() -> None:
    with pytest.raises(TVMError, match=r"used before it has a value"):
        interp.evaluate(X)
    a = te.placeholder((4,))
    with pytest.raises(TVMError, match=r"ProducerLoad"):
        interp.evaluate(a[0])
