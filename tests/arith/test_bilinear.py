"""Sums beside products of their terms."""

from __future__ import annotations

import itertools
import random

import pytest

from tvm.arith import Analyzer, ConstIntBound, Extension
from tvm.arith.bilinear import bilinear_bound
from tvm.arith.linear import difference
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z = (e.Var(name, "int32") for name in "xyz")
ZERO = e.IntImm("int32", 0)


def analyzer_with(**bounds) -> Analyzer:
    analyzer = Analyzer()
    names = {"x": x, "y": y, "z": z}
    for name, (low, high) in bounds.items():
        analyzer.update(names[name], ConstIntBound(low, high), True)
    return analyzer


def test_corners_of_the_box() -> None:
    source = random.Random(1)
    for _ in range(300):
        p, q, r = (source.randint(-4, 4) for _ in range(3))
        lows = [source.randint(-3, 3) for _ in range(2)]
        highs = [low + source.randint(0, 4) for low in lows]
        analyzer = analyzer_with(x=(lows[0], highs[0]), y=(lows[1], highs[1]))
        form = difference(x * p + y * q + (x * y) * r + 5, ZERO, analyzer)
        low, high = bilinear_bound(form, analyzer)
        ranges = [range(a, b + 1) for a, b in zip(lows, highs)]
        values = [p * a + q * b + r * a * b + 5 for a, b in itertools.product(*ranges)]
        if r and (p or q):
            assert (low, high) == (min(values), max(values))
        else:
            assert low <= min(values)
            assert max(values) <= high


def test_open_boxes() -> None:
    top = ConstIntBound.POS_INF
    analyzer = analyzer_with(x=(3, top), y=(3, top))
    form = difference(x + y, x * y, analyzer)
    assert bilinear_bound(form, analyzer)[1] == -3
    for least, highest in ((1, 1), (0, top)):
        analyzer = analyzer_with(x=(least, top), y=(3, top))
        assert bilinear_bound(difference(x + y, x * y, analyzer), analyzer)[1] == highest


def test_the_extension_decides() -> None:
    for extension, decided in (
        (Extension.NoExtensions, False), (Extension.ComparisonOfProductAndSum, True)
    ):  # fmt: skip
        analyzer = analyzer_with(x=(3, 100), y=(3, 100), z=(0, 4))
        analyzer.enabled_extensions = extension
        assert analyzer.can_prove(x + y < x * y) is decided
        assert analyzer.can_prove((x + y) * 2 < x * y * 3 + z) is decided
        assert not analyzer.can_prove(x + y + 4 < x * y)
