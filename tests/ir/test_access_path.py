"""Paths: making, printing, comparing."""

from __future__ import annotations

import pytest

from tvm.ir import GlobalVar
from tvm.ir.access_path import AccessPath

pytestmark = pytest.mark.pure


def test_prints_every_kind_of_step() -> None:
    root = AccessPath.root()
    path = root.attr("functions").map_item(GlobalVar("main")).attr("params").array_item(2)
    assert str(path) == '<root>.functions["main"].params[2]'
    assert str(root.attr_missing("x")) == "<root>.<missing x>"
    assert str(root.map_item_missing("k")) == "<root>[<missing k>]"
    assert str(root.array_item_missing(3)) == "<root>[<missing 3>]"


def test_compares_by_steps() -> None:
    a, b = AccessPath.root().attr("x"), AccessPath.root().attr("x")
    assert a == b
    assert hash(a) == hash(b)
    assert a.is_prefix_of(b.array_item(0))
    assert not b.array_item(0).is_prefix_of(a)
    assert a.parent == AccessPath.root()
    assert AccessPath.root().parent is None
