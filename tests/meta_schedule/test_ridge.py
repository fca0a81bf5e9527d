"""Linear regression with few and with many points."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.meta_schedule.ridge import Ridge

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("points", [5, 200])
def test_both_forms_solve_the_same_equations(points: int) -> None:
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(points, 20)), rng.normal(size=points)
    model = Ridge(2.0).fit(rows, targets)
    left = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    weights = np.linalg.solve(left.T @ left + 2.0 * np.eye(20), left.T @ (targets - targets.mean()))
    np.testing.assert_allclose(model.predict(rows), left @ weights + targets.mean(), rtol=1e-8)


def test_a_line_is_found_and_a_column_that_never_varies_says_nothing() -> None:
    rows = np.stack([np.arange(50.0), np.full(50, 3.0)], axis=1)
    model = Ridge(1e-6).fit(rows, 2.0 * rows[:, 0] + 1.0)
    np.testing.assert_allclose(model.predict(np.array([[100.0, 9.0]])), [201.0], rtol=1e-4)
