"""Sums as maps."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.arith.linear import difference, multiple_of
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y = e.Var("x", "int32"), e.Var("y", "int32")


def test_like_terms_cancel() -> None:
    analyzer = Analyzer()
    form = difference(x * 4 + tir.floordiv(y, 2) * 3 + 7, tir.floordiv(y, 2) * 3 + x, analyzer)
    assert form.constant == 7
    assert [count for _, count in form.shape()] == [3]
    analyzer.bind(x, Range(0, 5))
    assert form.bound(analyzer) == (7, 19)


def test_multiples() -> None:
    analyzer = Analyzer()
    assert multiple_of(x * 64 + 64, x * 32 + 32, analyzer) == 2
    assert multiple_of(y * 6 - x * 3, x - y * 2, analyzer) == -3
    for a, b in [(x * 64 + 63, x * 32 + 32), (x * 4 + y, x * 2 + y), (x * 4, x + 1), (x, y)]:
        assert multiple_of(a, b, analyzer) is None


def test_long_sums() -> None:
    total = x
    for _ in range(5000):
        total = e.Add(total, y)
    form = difference(total, x, Analyzer())
    assert [count for _, count in form.shape()] == [5000]
