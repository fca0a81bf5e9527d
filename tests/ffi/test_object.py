"""The root class."""

from __future__ import annotations

import pytest

from tvm.ffi.object import Object

pytestmark = pytest.mark.pure


def test_objects_are_known_by_identity() -> None:
    a, b = Object(), Object()
    assert a.same_as(a)
    assert not a.same_as(b)
    assert a != b


def test_packed_functions_give_back_what_they_were_given() -> None:
    import tvm

    same = tvm.runtime.convert(lambda x: x)
    var = tvm.ir.GlobalVar("f")  # callable, but no function
    for thing in (var, tvm.tir.Var("x", "int32"), tvm.runtime.Module(), tvm.IRModule({})):
        assert same(thing) is thing
        assert same([thing])[0] is thing


def test_moving_gives_the_object_itself() -> None:
    one = Object()
    assert one._move() is one
