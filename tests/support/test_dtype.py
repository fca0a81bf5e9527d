"""Data types: parsing, interning, the questions asked of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tvm.support.dtype import DataType, register_custom_type

pytestmark = pytest.mark.pure


def test_is_interned_and_a_string() -> None:
    assert DataType("float32x4") is DataType("float32x4")
    assert DataType("int32") == "int32"
    assert pickle.loads(pickle.dumps(DataType("int8"))) is DataType("int8")


@pytest.mark.parametrize(
    ("text", "code", "bits", "lanes"),
    [
        ("int32", 0, 32, 1),
        ("uint8x16", 1, 8, 16),
        ("float16", 2, 16, 1),
        ("handle", 3, 64, 1),
        ("void", 3, 0, 1),
        ("bfloat16x8", 4, 16, 8),
        ("bool", 6, 8, 1),
        ("float8_e4m3fn", 10, 8, 1),
        ("float4_e2m1fn", 17, 4, 1),
    ],
)
def test_reads_code_bits_and_lanes(text: str, code: int, bits: int, lanes: int) -> None:
    dtype = DataType(text)
    assert (dtype.type_code, dtype.bits, dtype.lanes) == (code, bits, lanes)


def test_short_and_foreign_names() -> None:
    assert DataType("float") == "float32"
    assert DataType("") == DataType("void") == DataType(None)
    assert DataType(np.dtype("int8")) == DataType(np.int8) == "int8"
    assert DataType(float) == "float32"
    assert DataType(bool) == "bool"


def test_vectors() -> None:
    scalable = DataType("float32xvscalex4")
    assert scalable.is_scalable
    assert scalable.is_vector
    assert scalable.element_of() is DataType("float32")
    assert DataType("int8").with_lanes(4) == "int8x4"
    assert DataType("int8x4").with_lanes(1) == "int8"
    assert DataType("int8").with_lanes(16, scalable=True) == "int8xvscalex16"
    assert DataType("float32x4").with_bits(16) == "float16x4"
    assert DataType("bool").with_lanes(3).itemsize == 3


def test_custom_types_get_codes_of_their_own() -> None:
    register_custom_type("posit_test", 150)
    dtype = DataType("custom[posit_test]16")
    assert dtype.is_custom
    assert (dtype.type_code, dtype.bits) == (150, 16)


@pytest.mark.parametrize("text", ["floaty", "int", "float32x0", "int32x", "32int"])
def test_refuses_what_is_no_type(text: str) -> None:
    if text == "int":
        assert DataType(text) == "int32"
        return
    with pytest.raises(ValueError, match="unknown data type"):
        DataType(text)


def test_uint1_is_bool() -> None:
    assert DataType("uint1") is DataType("bool")
    assert DataType("uint1x4") is DataType("bool").with_lanes(4)
    assert DataType("uint1xvscalex4") is DataType("boolxvscalex4")
    assert DataType("uint16").bits == 16
