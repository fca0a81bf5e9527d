"""What was measured of one program."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.feature_group import FeatureGroup, cost_of
from tvm.meta_schedule.runner import RunnerResult

pytestmark = pytest.mark.pure


def test_groups_as_arrays() -> None:
    one = FeatureGroup("a", [np.ones((2, 3), "float32")], np.array([4.0]))
    one.append([np.zeros((1, 3), "float32")], np.array([2.0]))
    two = FeatureGroup("b", [np.full((3, 3), 7, "float32")], np.array([1.0]))
    assert one.min_cost == 2.0
    again = FeatureGroup.from_arrays(FeatureGroup.to_arrays({"a": one, "b": two}))
    assert list(again) == ["a", "b"]
    assert [x.shape for x in again["a"].features] == [(2, 3), (1, 3)]
    assert again["b"].features[0].tolist() == two.features[0].tolist()
    assert FeatureGroup.from_arrays(FeatureGroup.to_arrays({})) == {}


def test_costs() -> None:
    assert cost_of(RunnerResult([1.0, 5.0, 2.0], None)) == 2.0
    assert cost_of(RunnerResult(None, "no")) == 1e10
