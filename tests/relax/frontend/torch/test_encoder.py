"""Encoder layers in one call: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from .cases import FAMILIES, Case
from .running import check


@pytest.mark.parametrize("case", FAMILIES["encoder"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)
