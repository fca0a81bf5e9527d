from __future__ import annotations

from collections import Counter

import pytest

from tvm.tir.schedule.random_engine import RandomEngine


def test_first_numbers() -> None:
    engine = RandomEngine(1)
    assert [engine.next() for _ in range(3)] == [48271, 182605794, 1291394886]


def test_weights() -> None:
    engine = RandomEngine(7)
    drawn = Counter(engine.weighted([0.1, 0.6, 0.3]) for _ in range(3000))
    assert abs(drawn[1] / 3000 - 0.6) < 0.05
    assert abs(drawn[0] / 3000 - 0.1) < 0.05


def test_any_seed() -> None:
    assert RandomEngine(None).state > 0
    assert RandomEngine(-1).state > 0


def test_seeds() -> None:
    assert RandomEngine(0).state == 1
    assert RandomEngine(2**31 + 4).state == 5
    with pytest.raises(ValueError, match="Random seed must be non-negative"):
        RandomEngine(-2)


def test_numbers_below_a_bound_are_ranges_of_the_draw() -> None:
    engine = RandomEngine(42)
    assert [engine.below(10) for _ in range(6)] == [0, 5, 2, 4, 6, 9]
    assert engine.subset(5, 0) == []
    assert all(len(set(engine.subset(7, 3))) == 3 for _ in range(20))
    assert all(engine.subset(2, 2) == [0, 1] for _ in range(5))


def test_one_weight_takes_no_draw() -> None:
    engine = RandomEngine(42)
    assert engine.weighted([0.3]) == 0
    assert engine.state == 42
