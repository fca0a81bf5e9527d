"""Paths: making, printing, comparing."""

from __future__ import annotations

import pytest
import tvm_ffi.access_path

from tvm.ffi import library
from tvm.ir import GlobalVar
from tvm.ir.access_path import AccessKind, AccessPath
from tvm.tir import Var

pytestmark = pytest.mark.pure


def test_prints_every_kind_of_step() -> None:
    root = AccessPath.root()
    path = root.attr("functions").map_item(GlobalVar("main")).attr("params").array_item(2)
    assert str(path) == '<root>.functions[I.GlobalVar("main")].params[2]'
    assert str(root.map_item("k").map_item(3)) == '<root>["k"][3]'
    assert str(root.attr_missing("x")) == '<root>[<missing:"x">]'
    assert str(root.map_item_missing("k")) == '<root>[<missing:"k">]'
    assert str(root.array_item_missing(3)) == "<root>[<missing:3>]"


def test_paths_of_the_library_print_alike() -> None:
    library()
    for key in (GlobalVar("main"), Var("n", "int32"), "k", 3):
        theirs = tvm_ffi.access_path.AccessPath.root().attr("params").map_item(key)
        assert str(AccessPath.of(theirs)) == str(theirs)
        assert str(AccessPath.root().map_item_missing(key)) == str(
            tvm_ffi.access_path.AccessPath.root().map_item_missing(key)
        )


def test_compares_by_steps() -> None:
    a, b = AccessPath.root().attr("x"), AccessPath.root().attr("x")
    assert a == b
    assert hash(a) == hash(b)
    assert a.is_prefix_of(b.array_item(0))
    assert not b.array_item(0).is_prefix_of(a)
    assert a.parent == AccessPath.root()
    assert AccessPath.root().parent is None


def test_paths_of_the_runtime_library_tell_the_same_way() -> None:
    theirs = tvm_ffi.access_path.AccessPath.root().attr("params").array_item_missing(2)
    ours = AccessPath.root().attr("params").array_item_missing(2)
    assert ours == theirs
    assert AccessPath.of(theirs) == ours
    assert ours != theirs.parent
    assert AccessPath.root().attr("params").is_prefix_of(theirs)
    assert [tuple(step) for step in ours.to_steps()] == [
        (step.kind, step.key) for step in theirs.to_steps()
    ]
    with pytest.raises(TypeError, match="an AccessPath is wanted"):
        AccessPath.of("body")


def test_steps() -> None:
    path = AccessPath.root().attr("body").map_item("k")
    assert path.depth == 2
    assert path.step is not None
    assert path.step.kind is AccessKind.MAP_ITEM
    assert path.step.key == "k"
    assert AccessPath.root().step is None
