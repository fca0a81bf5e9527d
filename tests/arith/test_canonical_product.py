"""Products, and what fractions of them have in common."""

from __future__ import annotations

import random

import pytest

from tests.arith.fuzz import evaluate
from tvm.arith import Analyzer
from tvm.arith.canonical_product import Product, cancelled
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, n = (e.Var(name, "int32") for name in "xyn")


def plain(kind: type, a, b):
    return kind(a, b)


def test_factors_keep_their_order_and_literals_gather() -> None:
    product = Product.of(e.Mul(e.Mul(y, 3), e.Mul(e.Mul(2, x), y)))
    assert [v.name for v in product.factors] == ["y", "x", "y"]
    assert product.literal == 6
    assert str(product.expr(plain)) == "y * x * y * 6"
    assert str(Product.of(e.Mul(x, 0)).expr(plain)) == "0"


def test_what_is_not_shared_stays() -> None:
    assert cancelled(e.FloorDiv, x * y, n, plain) is None
    assert cancelled(e.FloorDiv, x * 4, e.IntImm("int32", 2), plain) is None  # no symbol below
    assert str(cancelled(e.FloorDiv, x * 6, n * 4, plain)) == "x * 3 // (n * 2)"


@pytest.mark.parametrize("kind", [e.FloorDiv, e.FloorMod, e.Div, e.Mod])
def test_values_stay(kind: type) -> None:
    source = random.Random(kind.__name__)
    for _ in range(60):
        over, under = e.IntImm("int32", source.choice([1, 2, 6, -4])), e.IntImm("int32", 3)
        for _ in range(source.randint(1, 3)):
            over = e.Mul(over, source.choice([x, y, n, x + 1]))
            under = e.Mul(under, source.choice([x, y, n, x + 1]))
        before = kind(over, under)
        after = Analyzer().canonical_simplify(before)
        for _ in range(10):
            values = {v: source.choice([-5, -3, -2, 1, 2, 4, 7]) for v in (x, y, n)}
            if evaluate(under, values):
                assert evaluate(before, values) == evaluate(after, values), (before, after)
