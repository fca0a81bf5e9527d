"""Fresh names depend only on what was asked before."""

from __future__ import annotations

import pytest

from tvm.support.naming import NameTable

pytestmark = pytest.mark.pure


def test_counts_up_past_taken_names() -> None:
    names = NameTable(["a_1"])
    assert [names.fresh("a") for _ in range(3)] == ["a", "a_2", "a_3"]
    names.reserve("b")
    assert "b" in names
    assert names.fresh("b", "") == "b1"
