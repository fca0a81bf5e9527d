"""Ranges, global variables, and the operator tables."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax, tir
from tvm.ir import GlobalVar, Range

pytestmark = pytest.mark.pure


def test_ranges_of_equal_structure_are_equal() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert Range(0, 3) == Range.from_min_extent(0, 3)
    assert Range(0, x + 1) == Range(0, x + 1)
    assert {Range(0, x + 1): "found"}[Range(0, x + 1)] == "found"
    for other in (Range(0, y + 1), Range(1, x + 1), Range(0, 3), 3):
        assert Range(0, x + 1) != other
    assert Range(0, 3) != Range(0, tir.const(3, "int64"))


def test_ranges() -> None:
    whole = Range(5)
    assert (int(whole.min), int(whole.extent)) == (0, 5)
    part = Range(2, 7)
    assert (int(part.min), int(part.extent)) == (2, 5)
    x = tir.Var("x", "int64")
    sized = Range.from_min_extent(x, 4)
    assert sized.min is x
    assert isinstance(Range(x, x + 4).extent, tir.Sub)


def test_global_variables_are_called_in_their_dialect() -> None:
    f = GlobalVar("f")
    assert isinstance(f(1, tir.Var("x", "int32")), tir.Call)
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    assert isinstance(f(x), relax.Call)
    with pytest.raises(TypeError, match="cannot convert a object to a Relax expression"):
        f(object())
    assert f == f
    assert f != GlobalVar("f")
    assert bool(f)


def test_struct_info_that_is_not_known() -> None:
    told = "the struct info of this GlobalVar is not known yet"
    with pytest.raises(tvm.error.InternalError, match=told):
        _ = GlobalVar("f").struct_info


def test_stand_ins_say_what_they_cannot() -> None:
    from tvm.ir import PrimExprConvertible

    with pytest.raises(TypeError, match="stands for no single expression"):
        PrimExprConvertible().as_prim_expr()


def test_struct_info_is_equal_by_what_it_says() -> None:
    n = tir.Var("n", "int64")
    one, other = (relax.TensorStructInfo((n, 4), "float32") for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert not one.same_as(other)
    assert one != relax.TensorStructInfo((tir.Var("n", "int64"), 4), "float32")
    assert one != relax.ObjectStructInfo()
    assert one != "R.Tensor"
