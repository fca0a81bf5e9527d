"""Scopes of names."""

from __future__ import annotations

import pytest

from tvm.script.parser.core.names import VarTable

pytestmark = pytest.mark.pure


def test_inner_scopes_hide_and_give_back() -> None:
    table = VarTable({"captured": 1})
    with table.with_frame():
        table.add("x", "outer")
        with table.with_frame():
            table.add("x", "inner")
            assert table.lookup("x") == "inner"
        assert table.get() == {"captured": 1, "x": "outer"}
    assert table.lookup("x") is None


def test_a_scope_defines_a_name_once_unless_told_otherwise() -> None:
    table = VarTable()
    with table.with_frame():
        table.add("x", 1)
        with pytest.raises(ValueError, match="Variable x already defined in current scope"):
            table.add("x", 2)
        table.add("x", 3, allow_shadowing=True)
        assert table.lookup("x") == 3


def test_objects_are_known_by_identity() -> None:
    captured, bound, unknown = object(), object(), object()
    table = VarTable({"c": captured})
    with table.with_frame():
        table.add("b", bound)
        assert table.exist(bound)
        assert table.exist(captured)
        assert not table.exist(unknown)
