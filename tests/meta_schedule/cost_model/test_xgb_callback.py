"""The callback for those who train with xgboost; a stand-in takes its place here."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.xgb_model import _get_custom_call_back

pytestmark = pytest.mark.pure


class Booster:
    """Predicts what it was told to, round by round."""

    def __init__(self, errors: list[float]) -> None:
        self.errors, self.round, self.attributes = errors, 0, {}

    def predict(self, matrix: float) -> Any:
        return np.array([self.errors[self.round] + matrix])

    def set_attr(self, **attributes: str) -> None:
        self.attributes.update(attributes)


def rmse(predicted: Any, matrix: float) -> tuple[str, float]:
    return "p-rmse", float(predicted[0])


@pytest.fixture
def xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    package, callback = ModuleType("xgboost"), ModuleType("xgboost.callback")
    callback.TrainingCallback = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xgboost", package)
    monkeypatch.setitem(sys.modules, "xgboost.callback", callback)


@pytest.mark.usefixtures("xgboost")
def test_ends_when_no_round_has_been_better_for_long() -> None:
    made = _get_custom_call_back(2, 1, [rmse], [(0.0, "tr")])
    model = Booster([3.0, 1.0, 2.0, 2.0, 0.0])
    stops = []
    for model.round in range(4):
        stops.append(made.after_iteration(model, model.round, {}))
    assert stops == [False, False, False, True]
    assert made.after_training(model) is model
    assert model.attributes == {"best_score": "1.0", "best_iteration": "1"}


@pytest.mark.usefixtures("xgboost")
def test_means_over_folds() -> None:
    folds = [SimpleNamespace(bst=Booster([1.0]), dtrain=0.0, dtest=d) for d in (1.0, 3.0)]
    made = _get_custom_call_back(5, 0, [rmse], [], "test-p-rmse", folds)
    assert not made.after_iteration(None, 0, {})
    assert made.best_score == 3.0


@pytest.mark.usefixtures("xgboost")
def test_rejects_a_metric_that_nobody_measures() -> None:
    made = _get_custom_call_back(5, 0, [rmse], [(0.0, "tr")], "tr-x")
    with pytest.raises(ValueError, match="legal: tr-p-rmse"):
        made.after_iteration(Booster([1.0]), 0, {})


def test_needs_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost.callback", None)
    with pytest.raises(ImportError, match="pip install xgboost"):
        _get_custom_call_back(5, 0, [rmse], [(0.0, "tr")])
