"""The questions under the longer module name."""

from __future__ import annotations

import pytest

from tvm.tir import analysis
from tvm.tir.analysis import analysis as longer

pytestmark = pytest.mark.pure


def test_names_are_those_of_the_package() -> None:
    for name in ("verify_well_formed", "expr_deep_equal", "calculate_allocated_bytes"):
        assert getattr(longer, name) is getattr(analysis, name)
    assert "undefined_vars" in dir(longer)
