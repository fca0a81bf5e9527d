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
