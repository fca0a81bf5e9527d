"""Intervals: every pair of values lies within what is said of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from operator import floordiv

import pytest

from tvm.arith import interval as i

pytestmark = pytest.mark.pure
EDGES = (-7, -2, -1, 0, 1, 3, 8)
INTERVALS = [(low, high) for low, high in itertools.product(EDGES, EDGES) if low <= high]


def _values(bound: i.Bound) -> range:
    return range(bound[0], bound[1] + 1)


@pytest.mark.parametrize(
    ("bounds", "meaning", "exact"),
    [
        (i.add_bounds, lambda a, b: a + b, True),
        (i.mul_bounds, lambda a, b: a * b, True),
        (lambda a, b: i.div_bounds(a, b, floordiv), lambda a, b: a // b if b else None, True),
        (i.floor_mod_bounds, lambda a, b: a % b if b else None, False),
        (i.union_bounds, lambda a, b: a, False),
    ],
)
def test_closed_intervals(
    bounds: Callable[[i.Bound, i.Bound], i.Bound],
    meaning: Callable[[int, int], int | None],
    exact: bool,
) -> None:
    for a, b in itertools.product(INTERVALS, INTERVALS):
        results = (meaning(x, y) for x in _values(a) for y in _values(b))
        found = {value for value in results if value is not None}
        if not found:
            continue
        low, high = bounds(a, b)
        assert low <= min(found)
        assert max(found) <= high
        assert not exact or (low, high) == (min(found), max(found))


def test_open_intervals() -> None:
    assert i.add_bounds((0, i.POS_INF), (-3, 4)) == (-3, i.POS_INF)
    assert i.negate_bound((2, i.POS_INF)) == (i.NEG_INF, -2)
    assert i.mul_bounds((2, i.POS_INF), (-3, -1)) == (i.NEG_INF, -2)
    assert i.floor_mod_bounds(i.EVERYTHING, (4, i.POS_INF)) == (0, i.POS_INF)
    assert i.clamp(1 << 70) == i.POS_INF


def test_no_common_part_leaves_the_first() -> None:
    assert i.intersect_bounds((1, 3), (2, 9)) == (2, 3)
    assert i.intersect_bounds((1, 3), (5, 9)) == (1, 3)


def test_highest_at_corners() -> None:
    source = random.Random(1)
    for _ in range(200):
        p, q, r = (source.randint(-4, 4) for _ in range(3))
        x, y = source.choice(INTERVALS), source.choice(INTERVALS)
        most = max(p * a + q * b + r * a * b for a in _values(x) for b in _values(y))
        assert i.highest_at_corners(p, q, r, x, y) == most
    assert i.highest_at_corners(-5, -5, 1, (1, 4), (1, i.POS_INF)) == -9
    assert i.highest_at_corners(1, 1, 0, (1, 4), (1, i.POS_INF)) == i.POS_INF
