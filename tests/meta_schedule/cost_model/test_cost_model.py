"""Cost models of users, and their kinds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.schedules import scheduled
from tvm.error import TVMError
from tvm.meta_schedule import CostModel, TuneContext, derived_object
from tvm.meta_schedule.cost_model import PyCostModel, RandomModel, XGBModel
from tvm.meta_schedule.search_strategy import MeasureCandidate

pytestmark = pytest.mark.pure


def test_model_of_a_user() -> None:
    @derived_object
    class Fancy(PyCostModel):
        def load(self, path: str) -> None:
            self.path = path

        def save(self, path: str) -> None:
            self.path = path

        def update(self, context: Any, candidates: Any, results: Any) -> None:
            self.seen = (candidates, results)

        def predict(self, context: Any, candidates: Any) -> Any:
            return np.random.rand(len(candidates))

    model = Fancy()
    assert isinstance(model, CostModel)
    assert re.fullmatch(r"meta_schedule.Fancy\(0x[a-f0-9]+\)", str(model))
    model.save("there")
    model.load("there")
    model.update(TuneContext(), [], [])
    assert model.seen == ([], [])
    given = [MeasureCandidate(scheduled(), []) for _ in range(3)]
    assert model.predict(TuneContext(), given).shape == (3,)


@pytest.mark.parametrize(
    ("method", "arguments"), [("Load", 1), ("Save", 1), ("Update", 3), ("Predict", 2)]
)
def test_missing_methods(method: str, arguments: int) -> None:
    with pytest.raises(TVMError, match=f"PyCostModel's {method} method not implemented!"):
        getattr(PyCostModel(), method.lower())(*[None] * arguments)


def test_create() -> None:
    assert isinstance(CostModel.create("random", num_tuning_cores=2), RandomModel)
    model = CostModel.create("xgb", num_tuning_cores=2)
    assert isinstance(model, XGBModel)
    assert model.config.nthread == 2
    assert CostModel.create(model) is model
    assert CostModel.create("none") is None
    with pytest.raises(ValueError, match=r"Unknown CostModel: svm"):
        CostModel.create("svm")
