"""The learned model has real measurements in the right order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.meta_schedule.cost_model.measured import correlation, measured

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("train", "least"), [(16, 0.45), (32, 0.58)])
def test_order_of_schedules_that_it_has_not_seen(train: int, least: float) -> None:
    found = [correlation(schedules, train, seed=3) for schedules in measured().values()]
    assert len(found) == 9
    assert np.mean(found) > least
    assert min(found) > 0.0
