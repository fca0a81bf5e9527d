"""Types, literals and names in LLVM's notation."""

from __future__ import annotations

import math

import pytest

from tvm.backend.llvm import types
from tvm.error import DTypeError
from tvm.support.dtype import DataType

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("dtype", "value", "memory"),
    [
        ("bool", "i1", "i8"), ("uint16", "i16", "i16"), ("float16", "half", "half"),
        ("float64", "double", "double"), ("handle", "ptr", "ptr"),
        ("boolx4", "<4 x i1>", "<4 x i8>"), ("float32x16", "<16 x float>", "<16 x float>"),
        ("int24", "i24", "i32"), ("uint48x4", "<4 x i48>", "<4 x i64>"), ("int4", "i4", "i8"),
        ("int8xvscalex4", "<vscale x 4 x i8>", "<vscale x 4 x i8>"),
    ],
)  # fmt: skip
def test_types(dtype: str, value: str, memory: str) -> None:
    assert types.value_type(DataType(dtype)) == value
    assert types.memory_type(DataType(dtype)) == memory


def test_custom_types_are_refused_with_the_pass_that_lowers_them() -> None:
    legal = r"narrower floats .* tir\.LegalizeNarrowFloats, custom types by tir\.LowerCustom"
    for name in ("custom[posit]16", "bfloat16", "float8_e4m3fn"):
        with pytest.raises(DTypeError, match=legal):
            types.value_type(DataType(name))


def test_integer_literals_keep_their_bits() -> None:
    assert types.int_literal(DataType("uint8"), 255) == "-1"
    assert types.int_literal(DataType("int8"), -128) == "-128"
    assert types.int_literal(DataType("bool"), 1) == "true"


def test_float_literals_are_exact() -> None:
    assert types.float_literal(DataType("float32"), 0.1) == "0x3FB99999A0000000"
    assert types.float_literal(DataType("float64"), 0.1) == "0x3FB999999999999A"
    assert types.float_literal(DataType("float16"), 1.0) == "0xH3C00"
    assert types.float_literal(DataType("float16"), 1e6) == "0xH7C00"
    assert types.float_literal(DataType("float32"), 1e300) == "0x7FF0000000000000"
    assert types.float_literal(DataType("float32"), -math.inf) == "0xFFF0000000000000"


def test_names_and_bytes_are_escaped() -> None:
    assert types.quoted("main_1.body") == "@main_1.body"
    assert types.quoted("a b") == '@"a b"'
    assert types.quoted('q"\n') == '@"q\\22\\0A"'
    assert types.bytes_literal(b'a"\\\0') == "a\\22\\5C\\00"
    assert types.string_global("s", "hi") == '@s = private constant [3 x i8] c"hi\\00"'
