"""Python values on their way into registered functions."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import tir
from tvm.ir import structural_equal

pytestmark = pytest.mark.pure


def call(name: str, *args: Any) -> Any:
    return tvm.get_global_func(f"testing.{name}")(*args)


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        (7, tir.IntImm("int32", 7)),
        (1.5, tir.FloatImm("float32", 1.5)),
        (True, tir.IntImm("bool", 1)),
        ("x", tir.StringImm("x")),
    ],
)
def test_numbers_become_constants(value: Any, constant: Any) -> None:
    assert structural_equal(call("AcceptsPrimExpr", value), constant)
    assert structural_equal(call("AcceptsArrayOfPrimExpr", [value])[0], constant)
    assert structural_equal(call("AcceptsArrayOfVariant", [value])[0], constant)
    assert structural_equal(call("AcceptsMapOfPrimExpr", {"k": value})["k"], constant)


def test_nodes_stay_what_they_are() -> None:
    x = tir.Var("x", "int32")
    func = tir.PrimFunc([], tir.Evaluate(0))
    assert call("AcceptsPrimExpr", x).same_as(x)
    assert call("AcceptsObjectRefArray", [x]).same_as(x)
    assert call("AcceptsArrayOfVariant", [func])[0].same_as(func)


def test_maps_without_a_type_keep_their_values() -> None:
    assert type(call("AcceptsMapReturnsValue", {"a": 1}, "a")) is int
    assert type(call("AcceptsMapReturnsMap", {"a": True})["a"]) is bool


def test_one_of_several_types() -> None:
    assert call("AcceptsVariant", "text") == "ffi.String"
    assert call("AcceptsVariant", 17) == "ir.IntImm"
    assert call("AcceptsVariant", tir.IntImm("int64", 1)) == "ir.IntImm"
    assert structural_equal(call("ReturnsVariant", 8), tir.IntImm("int64", 4))
    assert call("ReturnsVariant", 7) == "argument was odd"


def test_truth_and_whole_numbers() -> None:
    assert call("AcceptsBool", 1) is True
    assert call("AcceptsBool", 0) is False
    assert call("AcceptsBool", tir.IntImm("bool", 1)) is True
    assert type(call("AcceptsInt", True)) is int


def test_shapes() -> None:
    shape = tvm.runtime.ShapeTuple([4, 9])
    assert call("GetShapeElem", shape, 1) == 9
    assert call("GetShapeSize", shape) == 2


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("AcceptsPrimExpr", [1], "Expected `ir.PrimExpr` but got `ffi.Array`"),
        ("AcceptsArrayOfPrimExpr", 1, "Expected `Array<ir.PrimExpr>` but got `int`"),
        ("AcceptsMapOfPrimExpr", [1], "Expected `Map<Any, ir.PrimExpr>` but got `ffi.Array`"),
        ("AcceptsVariant", tir.Var("x", "int32"), "Expected `.*IntImm.*` but got `tir.Var`"),
        ("AcceptsBool", "yes", "Expected `bool` but got `ffi.String`"),
        ("AcceptsInt", 1.5, "Expected `int` but got `float`"),
    ],
)
def test_other_types_are_refused(name: str, value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(name, value)
