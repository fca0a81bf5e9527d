"""Scores without knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.meta_schedule.schedules import scheduled
from tvm.meta_schedule import TuneContext
from tvm.meta_schedule.cost_model import RandomModel
from tvm.meta_schedule.search_strategy import MeasureCandidate

pytestmark = pytest.mark.pure


def some(count: int) -> list[MeasureCandidate]:
    return [MeasureCandidate(scheduled(), [])] * count


def test_range() -> None:
    model = RandomModel()
    model.update(TuneContext(), [], [])
    scores = model.predict(TuneContext(), some(10))
    assert len(scores) == 10
    assert scores.min() >= 0
    assert scores.max() <= model.max_range
    assert RandomModel(max_range=None).predict(TuneContext(), some(9)).max() <= 1


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = RandomModel(seed=25973)
    model.predict(TuneContext(), some(30))
    path = str(tmp_path / "random_model.npy")
    model.save(path)
    first = model.predict(TuneContext(), some(70))
    model.load(path)
    assert (model.predict(TuneContext(), some(70)) == first).all()
    assert (RandomModel(path=path).predict(TuneContext(), some(70)) == first).all()


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"found: no such file\n  legal: a file that a RandomMod"):
        RandomModel(path=str(tmp_path / "none"))
