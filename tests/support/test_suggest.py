"""Near names for messages."""

from __future__ import annotations

import pytest

from tvm.support.suggest import did_you_mean, near_names

pytestmark = pytest.mark.pure


def test_offers_the_nearest_or_nothing() -> None:
    assert near_names("cudaa", ["cuda", "llvm"]) == ["cuda"]
    assert did_you_mean("cudaa", ["cuda", "llvm"]) == "; did you mean 'cuda'?"
    assert did_you_mean("zzz", ["cuda", "llvm"]) == ""
