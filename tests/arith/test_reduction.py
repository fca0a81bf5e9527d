"""Reductions with their parts simplified."""

from __future__ import annotations

import pytest

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.arith.reduction import reduced

pytestmark = pytest.mark.pure
n = tir.Var("n", "int32")


def test_the_condition_is_known_to_the_source() -> None:
    k = te.reduce_axis((0, 8), "k")
    analyzer = Analyzer()
    chosen = te.sum(tir.Select(k < 4, k * 2, 1), k, where=k.var < 3)
    assert str(reduced(analyzer, chosen, analyzer.simplify).source[0]) == "k * 2"


def test_nothing_new_is_made_of_what_is_simple() -> None:
    k = te.reduce_axis((0, 8), "k")
    analyzer = Analyzer()
    simple = te.max(k.var + n, k)
    assert reduced(analyzer, simple, analyzer.simplify) is simple


def test_parts_that_use_one_another_stay_together() -> None:
    k = te.reduce_axis((0, 8), "k")
    a = te.placeholder((8,), name="a")
    swapped = te.comm_reducer(
        lambda p, q: (p[1] + q[1], p[0] + q[0], p[2] * q[2]),
        lambda *types: [tir.const(1, t) for t in types],
    )
    parts = swapped((a[k], a[k], a[k]), axis=k)
    analyzer = Analyzer()
    assert [len(reduced(analyzer, part, analyzer.simplify).source) for part in parts] == [2, 2, 1]
