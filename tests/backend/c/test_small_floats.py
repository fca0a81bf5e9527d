"""Names of conversions; that they are exact is shown by test_programs.py, bit by bit."""

from __future__ import annotations

import pytest

from tvm.backend.c.small_floats import SMALL_FLOAT_HELPERS, Format
from tvm.backend.c.types import _SMALL_FLOATS

pytestmark = pytest.mark.pure


def test_every_format_has_both_directions() -> None:
    for name in _SMALL_FLOATS.values():
        assert {f"{name}_to_f32", f"f32_to_{name}"} <= set(SMALL_FLOAT_HELPERS)


def test_codes_of_nan() -> None:
    assert Format(16, 10, 15, infinity=0x7C00).nan == 0x7E00
    assert Format(8, 3, 7).nan == 0x7F
    assert Format(8, 2, 16, negative_zero=False).nan == 0x80
