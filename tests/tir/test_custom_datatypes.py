"""Rules that call C functions by the width of their operands."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.support import dtype
from tvm.target import datatype

KIND = "custom[cfloat]16"


@pytest.fixture(autouse=True)
def _cfloat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtype, "_custom_codes", {})
    datatype.register("cfloat", 180)


def test_arithmetic_casts_literals_and_calls() -> None:
    x, y = tir.Var("x", KIND), tir.Var("y", KIND)
    lower = datatype.create_lower_func({16: "Op16", (32, 16): "FromFloat"})
    assert str(lower(x + y)) == 'T.call_pure_extern("uint16", "Op16", x, y)'
    cast = tir.Cast(KIND, tir.Var("f", "float32"))
    assert str(lower(cast)) == 'T.call_pure_extern("uint16", "FromFloat", f)'
    literal = tir.FloatImm(KIND, 2.0)
    assert str(lower(literal)) == 'T.call_pure_extern("uint16", "Op16", T.float32(2.0))'
    assert str(lower(tir.exp(x))) == 'T.call_pure_extern("uint16", "Op16", x)'


def test_vectors_are_held_in_vectors() -> None:
    x = tir.Var("x", KIND + "x4")
    lower = datatype.create_lower_func({16: "Op16"})
    assert str(lower(x + x).dtype) == "uint16x4"


def test_widths_without_a_function() -> None:
    x = tir.Var("x", "custom[cfloat]8")
    with pytest.raises(tvm.TVMError, match="no function of that width"):
        datatype.create_lower_func({16: "Op16"})(x + x)
    with pytest.raises(tvm.TVMError, match="legal: 16"):
        datatype.create_min_lower_func({16: "Min"}, "cfloat")(8)
    with pytest.raises(tvm.TVMError, match="found: Var"):
        datatype.create_lower_func({16: "Op16"})(x)
    least = datatype.create_min_lower_func({16: "Min"}, "cfloat")(16)
    assert str(least) == 'T.call_pure_extern("uint16", "Min")'


def test_choices_and_calls_of_the_type_itself() -> None:
    x, c = tir.Var("x", KIND), tir.Var("c", "bool")
    assert str(datatype.lower_ite(tir.if_then_else(c, x, x)).dtype) == "uint16"
    call = tir.call_pure_extern(KIND, "f", x)
    assert str(datatype.lower_call_pure_extern(call).dtype) == "uint16"
