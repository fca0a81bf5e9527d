"""Literals in C mean the value that they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tvm.backend.c.types import (
    float_literal,
    int_literal,
    string_literal,
    value_type,
)
from tvm.backend.c_family.code import ATOM, UNARY
from tvm.error import DTypeError
from tvm.support.dtype import DataType

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        ("float32", 0.1, "0.1f"), ("float32", 1.0, "1.0f"), ("float32", 1e30, "1e+30f"),
        ("float32", -0.0, "-0.0f"), ("float64", 0.1, "0.1"), ("float32", math.inf, "INFINITY"),
        ("float64", -math.inf, "-INFINITY"), ("float64", math.nan, "NAN"),
    ],
)  # fmt: skip
def test_floats(dtype: str, value: float, text: str) -> None:
    assert float_literal(DataType(dtype), value) == text


def test_float32_literals_are_exact() -> None:
    bits = np.random.default_rng(0).integers(0, 2**31, 500, "uint32")
    for value in bits.view("float32"):
        if np.isfinite(value):
            text = float_literal(DataType("float32"), float(value))
            assert np.float32(text.rstrip("f")) == value


def test_integers() -> None:
    def text(dtype: str, value: int) -> str:
        return str(int_literal(DataType(dtype), value))

    assert text("int32", 5) == "5"
    assert text("int32", -(2**31)) == "-2147483647 - 1"
    assert text("int64", -(2**63)) == "-9223372036854775807LL - 1"
    assert text("uint64", 2**64 - 1) == "18446744073709551615ULL"
    assert text("bool", 1) == "true"
    assert int_literal(DataType("int32"), -1).level == UNARY > ATOM


def test_strings() -> None:
    assert string_literal('a "b"\n??=é') == '"a \\"b\\"\\n?""?=\\303\\251"'


def test_types_without_a_form_are_refused() -> None:
    assert [value_type(DataType(t)) for t in ("bool", "int4", "uint16", "handle")] == [
        "bool", "int8_t", "uint16_t", "void*",
    ]  # fmt: skip
    with pytest.raises(DTypeError) as caught:
        value_type(DataType("float16"))
    assert str(caught.value).startswith("C code for values of float16\n  found: a type that")
    assert "lowered to these by tir.LegalizeNarrowFloats" in str(caught.value)
