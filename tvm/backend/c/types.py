"""Data types, literals and pieces of text in C's notation.

bool is `bool` as a value and `uint8_t` in memory. Integers of odd widths are carried in the next
wider type. Floats of 16 bits and less are integers here (tir.LegalizeNarrowFloats), since no C
standard has them.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from tvm.backend.c_family.code import ADD, ATOM, UNARY, Code
from tvm.error import DTypeError, message
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e


def carried_bits(dtype: DataType) -> int:
    """The width of the C integer that carries a type."""
    return next(width for width in (8, 16, 32, 64) if dtype.bits <= width)


def value_type(dtype: DataType) -> str:
    """The C type of one lane, as a value."""
    if dtype.is_bool:
        return "bool"
    if dtype.is_void:
        return "void"
    if dtype.is_handle:
        return "void*"
    if dtype.is_integer and dtype.bits <= 64:
        return f"{'int' if dtype.is_int else 'uint'}{carried_bits(dtype)}_t"
    if dtype.is_float and dtype.bits in (32, 64):
        return "float" if dtype.bits == 32 else "double"
    raise DTypeError(
        message(
            f"C code for values of {dtype}",
            found="a type that the C backend has no form for",
            legal="bool, integers up to 64 bits, float32, float64, handle; narrower floats are "
            "lowered to these by tir.LegalizeNarrowFloats",
        )
    )


def memory_type(dtype: DataType) -> str:
    """The C type of one lane in memory."""
    return "uint8_t" if dtype.is_bool else value_type(dtype)


def element_bytes(dtype: DataType) -> int:
    """Bytes of one lane in memory."""
    return 1 if dtype.is_bool else carried_bits(dtype) // 8


def pointee(var: e.Var) -> str | None:
    """The C type that a pointer variable points to; None when it is not known."""
    kind = var.type_annotation
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
        dtype = kind.element_type.dtype
        if not (dtype.is_void or dtype.is_handle):
            return memory_type(dtype)
    return None


def variable_type(var: e.Var) -> str:
    """The C type of a variable."""
    if not var.dtype.is_handle:
        return value_type(var.dtype)
    inner = pointee(var)
    return "void*" if inner is None else inner + "*"


def short_name(dtype: DataType) -> str:
    """A type inside the name of a helper: i32, u8, f32."""
    if dtype.is_bool:
        return "bool"
    return f"{'f' if dtype.is_float else 'i' if dtype.is_int else 'u'}{dtype.bits}"


def int_literal(dtype: DataType, value: int) -> Code:
    """An integer or bool literal of the type that arithmetic has."""
    if dtype.is_bool:
        return Code("true" if value else "false")
    suffix = ("U" if dtype.is_uint and dtype.bits >= 32 else "") + ("LL" if dtype.bits > 32 else "")
    if dtype.is_int and dtype.bits >= 32 and value == -(1 << (dtype.bits - 1)):
        return Code(f"-{-value - 1}{suffix} - 1", ADD)  # the number itself is no literal of C
    return Code(f"{value}{suffix}", UNARY if value < 0 else ATOM)


def float_literal(dtype: DataType, value: float) -> Code:
    """A floating literal; exact, and as short as that allows."""
    level = UNARY if math.copysign(1, value) < 0 else ATOM
    if math.isnan(value):
        return Code("NAN")
    if math.isinf(value):
        return Code("-INFINITY" if value < 0 else "INFINITY", level)
    if dtype.bits == 64:
        return Code(repr(float(value)), level)
    single = _as_float32(value)
    if math.isinf(single):
        return Code("-INFINITY" if value < 0 else "INFINITY", level)
    text = next(t for n in range(1, 18) if _as_float32(float(t := f"{single:.{n}g}")) == single)
    if "." not in text and "e" not in text:
        text += ".0"
    return Code(text + "f", level)


def _as_float32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


_ESCAPES: Final = {
    **{byte: f"\\{byte:03o}" for byte in (*range(32), *range(127, 256))},
    **str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}),
}


def string_literal(text: str) -> str:
    """A string literal; letters outside ASCII as octal bytes, and no trigraphs."""
    letters = text.encode().decode("latin-1")  # one a byte
    return '"' + letters.translate(_ESCAPES).replace("??", '?""?') + '"'
