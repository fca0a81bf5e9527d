"""All questions are found under both module names."""

from __future__ import annotations

import pytest

from tvm.relax import analysis
from tvm.relax.analysis import analysis as door

pytestmark = pytest.mark.pure


def test_names_are_the_same() -> None:
    assert all(getattr(door, name) is getattr(analysis, name) for name in analysis.__all__)
