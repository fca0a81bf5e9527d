"""Nodes as text."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.runtime import _ffi_node_api as api

pytestmark = pytest.mark.pure


def test_nodes_become_text_and_come_back() -> None:
    value = tir.Var("x", "int32") + 1
    assert_structural_equal(api.LoadJSON(api.SaveJSON(value)), value, map_free_vars=True)
    assert api.AsRepr(value) == repr(value) == "x + 1"
