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
