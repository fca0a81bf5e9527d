"""Rules are found by dialect and syntax, operators by the types of their operands."""

from __future__ import annotations

import ast

import pytest

from tvm import tir
from tvm.script.parser.core import dispatch

pytestmark = pytest.mark.pure


def test_dialects_load_at_their_first_word() -> None:
    assert dispatch.get("tir", "For") is not None
    assert dispatch.get("relax", "Return") is not None
    assert dispatch.get("nothing", "For") is None
    assert dispatch.get("tir", "Nonlocal", default=len) is len  # type: ignore[arg-type]


def test_operators_follow_the_base_types() -> None:
    found = dispatch.get_op(tir.Add, ast.And, 0)
    assert found is not None
    x, y = tir.Var("x", "bool"), tir.Var("y", "bool")
    assert isinstance(found(x, y), tir.And)
    assert dispatch.get_op(int, ast.And, 0) is None
