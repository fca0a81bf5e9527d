"""The sets that regions of buffers cover."""

from __future__ import annotations

import pytest

from tvm.arith import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y = (e.Var(name, "int32") for name in "xy")


def ends(found: IntSet) -> tuple[str, str]:
    assert isinstance(found, IntervalSet)
    return str(found.min_value), str(found.max_value)


def test_regions() -> None:
    domains = {x: Range(0, 8), y: Range(0, 4)}
    whole = [Range.from_min_extent(x * 4, 4), Range.from_min_extent(y, 1)]
    for estimate in (estimate_region_lower_bound, estimate_region_strict_bound,
                     estimate_region_upper_bound):  # fmt: skip
        assert [ends(part) for part in estimate(whole, domains, True)] == [("0", "31"), ("0", "3")]
    holes = [Range.from_min_extent(x * 4, 2)]
    assert estimate_region_lower_bound(holes, domains, True) is None
    assert [ends(p) for p in estimate_region_upper_bound(holes, domains, True)] == [("0", "29")]
    diagonal = [Range.from_min_extent(x, 1), Range.from_min_extent(x, 1)]
    assert estimate_region_strict_bound(diagonal, domains, True) is None
    assert [ends(p) for p in estimate_region_upper_bound(diagonal, domains, True)] == [
        ("0", "7"), ("0", "7"),
    ]  # fmt: skip
    limited = estimate_region_strict_bound(
        [Range.from_min_extent(x * 4 + y, 1)], domains, x * 4 + y < 30
    )
    assert [ends(part) for part in limited] == [("0", "29")]
    window = [Range.from_min_extent(x + y, 1)]
    for estimate in (estimate_region_lower_bound, estimate_region_strict_bound,
                     estimate_region_upper_bound):  # fmt: skip
        assert [ends(part) for part in estimate(window, domains, True)] == [("0", "10")]


def test_regions_that_run_backwards() -> None:
    domains = {x: Range(0, 8), y: Range(0, 4)}
    down = [Range.from_min_extent(20 - x * 2, 2)]
    assert [ends(part) for part in estimate_region_strict_bound(down, domains, True)] == [
        ("6", "21")
    ]
    assert estimate_region_strict_bound([Range.from_min_extent(-x * 2, 1)], domains, True) is None
