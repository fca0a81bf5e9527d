"""The table of fusion patterns."""

from __future__ import annotations

import pytest

from tvm.relax.backend import get_pattern, get_patterns_with_prefix, register_patterns
from tvm.relax.backend import pattern_registry as table
from tvm.relax.dpl.pattern import is_op, wildcard
from tvm.relax.transform import FusionPattern

pytestmark = pytest.mark.pure


def test_later_ones_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_PATTERNS", [])
    exp, tanh = is_op("relax.exp")(wildcard()), is_op("relax.tanh")(wildcard())
    register_patterns([("mine.exp", exp), FusionPattern("mine.tanh", tanh), ("other.exp", exp)])
    assert [p.name for p in get_patterns_with_prefix("mine.")] == ["mine.tanh", "mine.exp"]
    found = get_pattern("mine.exp")
    assert found is not None
    assert found.pattern is exp
    register_patterns([("mine.exp", tanh)])
    again = get_pattern("mine.exp")
    assert again is not None
    assert again.pattern is tanh
    assert get_pattern("mine.none") is None
    assert get_patterns_with_prefix("none") == []
