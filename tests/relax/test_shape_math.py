"""Comparing and simplifying symbolic extents."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.relax.shape_math import (
    product,
    product_in_order,
    same_extent,
    same_shape,
    simplify,
    total_in_order,
)

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (N, N, True),
        ((N + 1) * 2, N * 2 + 2, True),
        (N * M, M * N, True),
        ((N + M) * (N - M), N * N - M * M, True),
        (N + 1, N, False),
        (N, M, None),
        (N * 2, N, None),
        (N // 2 + 1, 1 + N // 2, True),
        (tir.max(N, 4), tir.max(4, N), True),
        (tir.const(3, "int64"), tir.const(4, "int64"), False),
    ],
)
def test_same_extent(a: tir.PrimExpr, b: tir.PrimExpr, expected: bool | None) -> None:
    assert same_extent(a, b) is expected


def test_shapes_differ_at_the_first_certain_difference() -> None:
    one, two = tir.const(1, "int64"), tir.const(2, "int64")
    assert same_shape([N, one], [M, two]) is False
    assert same_shape([N, one], [M, one]) is None
    assert same_shape([N], [N, one]) is False


def test_long_sums_need_no_recursion() -> None:
    a = b = N
    for i in range(5000):
        a = a + (i % 7)
        b = (i % 7) + b
    assert same_extent(a, b) is True


def test_large_products_are_left_open() -> None:
    symbols = [tir.Var(f"s{i}", "int64") for i in range(40)]
    total: tir.PrimExpr = N
    for symbol in symbols:
        total = total + symbol
    assert same_extent(total * total, N) in (None, False)


def test_product_and_simplify() -> None:
    assert product([]).value == 1
    assert product([tir.const(2, "int64"), tir.const(3, "int64")]).value == 6
    assert product_in_order([]).value == 1
    two = tir.const(2, "int64")
    assert str(product_in_order([N, two, M])) == "n * T.int64(2) * m"
    assert str(total_in_order([two, N, M])) == "T.int64(2) + n + m"
    assert str(total_in_order([N + 1, N + 1])) == "(n + T.int64(1)) * T.int64(2)"
    assert total_in_order([N]) is N
    assert simplify(N * 4 // 4) is N
