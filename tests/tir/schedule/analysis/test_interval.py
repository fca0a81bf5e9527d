from __future__ import annotations

import itertools

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.interp import evaluate
from tvm.tir.schedule.analysis.interval import interval_of, is_dense

i, j, k = tir.Var("i"), tir.Var("j"), tir.Var("k")
RANGES = {i: Range(0, 4), j: Range(1, 6)}


@pytest.mark.parametrize(
    "expr",
    [
        i * 5 + j, k - i, (i * 8 + j) // 4, (k * 8 + i) // 8, (k * 8 + i) % 8, i % 3,
        tir.min(i, 2) + tir.max(j, k), i * -2 + 7, k * i,
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("at", [0, 1, 5])
def test_bounds_hold(expr: PrimExpr, at: int) -> None:
    analyzer = Analyzer()
    analyzer.bind(k, Range(0, 10))
    bounds = interval_of(expr, RANGES, analyzer)
    assert bounds is not None
    places = itertools.product(range(4), range(1, 6))
    values = [int(evaluate(expr, {i: a, j: b, k: at})) for a, b in places]
    low, high = (int(evaluate(bound, {k: at})) for bound in bounds)
    assert low <= min(values)
    assert high >= max(values)


def test_sums_of_splits_are_exact() -> None:
    low, high = interval_of(k * 20 + i * 5 + j, RANGES, Analyzer())
    assert Analyzer().can_prove_equal(low, k * 20 + 1)
    assert Analyzer().can_prove_equal(high, k * 20 + 20)


@pytest.mark.parametrize(
    ("expr", "width", "dense"),
    [
        (i * 5 + j, 1, True),
        (i * 6 + j, 1, False),
        (i * 2, 2, True),
        (i * 2, 1, False),
        (i - j, 1, True),
        (j - i * 5, 1, True),
        (j - i * 6, 1, False),
    ],
    ids=str,
)
def test_gaps(expr: PrimExpr, width: int, dense: bool) -> None:
    assert is_dense(expr, tir.IntImm("int32", width), RANGES) is dense
