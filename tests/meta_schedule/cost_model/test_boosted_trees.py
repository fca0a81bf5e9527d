"""Trees against functions that they can and cannot learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.boosted_trees import Booster

pytestmark = pytest.mark.pure


def fitted(rows: Any, labels: Any, **options: Any) -> Booster:
    given = {"max_depth": 6, "gamma": 0.001, "min_child_weight": 0.0, "eta": 0.3, **options}
    booster = Booster(**given)

    def loss(pred: Any) -> float:
        return float(np.sqrt(np.mean((pred - labels) ** 2)))

    booster.fit(rows, lambda p: (p - labels, np.ones(len(p))), loss, 100, 10)
    return booster


def test_a_step_is_found() -> None:
    rows = np.linspace(0, 1, 50, dtype="float32")[:, None]
    labels = (rows[:, 0] > 0.5).astype(float)
    booster = fitted(rows, labels, max_depth=1)
    np.testing.assert_allclose(booster.predict(rows), labels, atol=0.05)
    feature, threshold = booster.trees[0].feature[0], booster.trees[0].threshold[0]
    assert feature == 0
    assert rows[24, 0] <= threshold < rows[25, 0], "the value of the last row on the left"


def test_unseen_rows_of_a_smooth_function() -> None:
    rng = np.random.default_rng(0)
    train, test = rng.random((2, 600, 20), "float32")
    train[:, 10:] = test[:, 10:] = 1  # constant features tell nothing

    def f(x: Any) -> Any:
        return np.sin(5 * x[:, 0]) + x[:, 1] * x[:, 2]

    booster = fitted(train, f(train))
    assert np.corrcoef(booster.predict(test), f(test))[0, 1] > 0.95
    assert all(t.feature.max() < 10 for t in booster.trees)


def test_interaction_needs_depth() -> None:
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, "float32")
    labels = np.logical_and(rows[:, 0], rows[:, 1]).astype(float)
    np.testing.assert_allclose(fitted(rows, labels).predict(rows), labels, atol=0.1)
    assert np.abs(fitted(rows, labels, max_depth=1).predict(rows) - labels).max() > 0.2


def test_same_data_same_trees() -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.random((100, 8), "float32"), rng.random(100)
    first, second = (fitted(rows, labels).predict(rows) for _ in range(2))
    assert (first == second).all()


def test_arrays_round_trip() -> None:
    rng = np.random.default_rng(2)
    rows, labels = rng.random((100, 8), "float32"), rng.random(100)
    booster, again = fitted(rows, labels), Booster(6, 0.0, 0.0, 0.3)
    again.set_arrays(booster.arrays())
    assert len(again.trees) == len(booster.trees)
    assert (again.predict(rows) == booster.predict(rows)).all()
    again.set_arrays(Booster(6, 0.0, 0.0, 0.3).arrays())
    assert again.trees == []


@pytest.mark.parametrize("rows", [np.ones((5, 3), "float32"), np.zeros((1, 2), "float32")])
def test_nothing_to_split(rows: Any) -> None:
    booster = fitted(rows, np.full(len(rows), 0.5))
    assert all(len(tree.feature) == 1 for tree in booster.trees)
    assert (booster.predict(rows) > 0).all()
