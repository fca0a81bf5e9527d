"""Digits of floats give back the same float."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.backend.device.literals import float_digits

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.000000e+00"), (-0.5, "-5.000000e-01"), (0.1, "1.000000e-01"), (0.0, "0.000000e+00"),
     (-0.0, "-0.000000e+00"), (16777217.0, "1.6777216e+07"), (1e-45, "1.401298e-45")],
)  # fmt: skip
def test_digits(value: float, text: str) -> None:
    assert float_digits(value, 32) == text


def test_no_digits_of_what_is_no_number() -> None:
    for value in (float("inf"), float("nan"), 1e300):
        assert float_digits(value, 32) == ""


def test_random_floats_come_back() -> None:
    words = np.random.default_rng(0).integers(0, 2**32, 500, dtype=np.uint32)
    for x in words.view(np.float32):
        if np.isfinite(x):
            assert np.float32(float_digits(float(x), 32)) == x
            assert float(float_digits(float(x) / 3, 64)) == float(x) / 3
