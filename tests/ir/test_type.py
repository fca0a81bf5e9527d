"""Types of variables and functions."""

from __future__ import annotations

import pytest

from tvm.ir import FuncType, PointerType, PrimType, TupleType, structural_equal

pytestmark = pytest.mark.pure


def test_equality_by_content() -> None:
    assert structural_equal(PointerType(PrimType("int8")), PointerType(PrimType("int8"), "global"))
    assert not structural_equal(PointerType(PrimType("int8")), PointerType(PrimType("int8"), "l"))
    make = lambda: FuncType([PrimType("int8")], TupleType([]))
    assert structural_equal(make(), make())


def test_types_are_equal_by_what_they_say() -> None:
    one, other = PrimType("int8"), PrimType("int8")
    assert one == other
    assert hash(one) == hash(other)
    assert not one.same_as(other)
    assert one != PrimType("int16")
    assert PointerType(one, "local") == PointerType(other, "local")
    assert PointerType(one, "local") != PointerType(one)
    assert FuncType([one], TupleType([one])) == FuncType([other], TupleType([other]))
    assert one != "int8"
