"""Data types as words: variables, literals, casts."""

from __future__ import annotations

import math

import pytest

from tvm import tir
from tvm.error import DiagnosticError
from tvm.ir import PointerType
from tvm.script import from_source
from tvm.script import tir as T
from tvm.tir.script.dtypes import dtype_names, find_dtype

pytestmark = pytest.mark.pure


def test_one_word_three_uses() -> None:
    assert isinstance(T.int64(), tir.Var)
    assert isinstance(T.int64(is_size_var=True), tir.SizeVar)
    assert (T.int64(3).value, T.int64(3).dtype) == (3, "int64")
    assert isinstance(T.float32(tir.Var("x", "int32")), tir.Cast)
    assert math.isinf(T.float32("-inf").value)
    assert math.isnan(T.float32("nan").value)
    assert T.boolean(True).dtype == "bool"
    assert repr(T.float16) == "T.float16"


def test_pointers() -> None:
    assert T.handle().dtype == "handle"
    kind = T.handle("float32", "shared").type_annotation
    assert isinstance(kind, PointerType)
    assert kind.storage_scope == "shared"
    assert T.ptr("int8").type_annotation.storage_scope == "global"
    assert T.buffer_var("int8", "local").type_annotation.storage_scope == "local"
    assert T.var("int8", "x").name == "x"
    assert T.func_gen("Int8")().dtype == "int8"


@pytest.mark.parametrize("name", dtype_names())
def test_every_word_makes_its_type(name: str) -> None:
    assert find_dtype(name)().dtype == name  # type: ignore[misc]


@pytest.mark.parametrize("name", ["handle", "void", "int", "float", "nonsense", "int32x1"])
def test_other_names_are_no_types(name: str) -> None:
    assert find_dtype(name) is None


@pytest.mark.parametrize("name", ["float33", "float24x4", "float8", "bfloat17", "int128", "uint0"])
def test_widths_that_nobody_has_are_no_words(name: str) -> None:
    assert not hasattr(T, name)
    with pytest.raises(DiagnosticError, match=f"T has no word '{name}'"):
        from_source(f"@T.prim_func\ndef main(a: T.{name}):\n    T.evaluate(0)\n")


@pytest.mark.parametrize("name", ["int7", "int4x8", "float16xvscalex4", "float8_e4m3fnx4", "bool"])
def test_widths_of_some_machine_are_words(name: str) -> None:
    assert str(getattr(T, name)().dtype) == name
