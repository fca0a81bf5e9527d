"""How good a ranking is."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.metric import max_curve, rank_correlation

pytestmark = pytest.mark.pure


def test_best_so_far() -> None:
    assert max_curve(np.array([1.0, 3.0, 2.0, 5.0])).tolist() == [1, 3, 3, 5]


def test_order() -> None:
    one = np.array([1.0, 3.0, 2.0, 5.0])
    assert rank_correlation(one, np.exp(one)) == pytest.approx(1.0)
    assert rank_correlation(one, -one) == pytest.approx(-1.0)
    assert rank_correlation(one[:1], one[:1]) == 0.0
