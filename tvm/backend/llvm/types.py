"""Data types and literals in LLVM's notation.

bool is i1 as a value and i8 in memory. An integer of less than 8 bits takes a byte in memory, as in
numpy. bfloat16 and narrower floats are integers here (tir.LegalizeNarrowFloats), since LLVM would
call library functions for them that not every system has.
"""

from __future__ import annotations

import functools
import math
import struct
from typing import Final

from tvm.error import DTypeError, message
from tvm.support.dtype import DataType

# The same few types and names come up in every function.
_memoized = functools.lru_cache(maxsize=1024)
_FLOATS: Final = {16: "half", 32: "float", 64: "double"}


def is_bit(dtype: DataType) -> bool:
    """True for values of one bit, which take a byte in memory: bool, int1, uint1."""
    return dtype.is_bool or (dtype.is_integer and dtype.bits == 1)


def held_bits(dtype: DataType) -> int:
    """Bits that an element takes in memory: a power of two, and at least a byte."""
    return 8 if dtype.is_bool else max(8, 1 << (dtype.bits - 1).bit_length())


def is_padded(dtype: DataType) -> bool:
    """True for integers whose elements take more bits in memory than they have: bool, int24."""
    return dtype.is_bool or (dtype.is_integer and dtype.bits != held_bits(dtype))


def element_type(dtype: DataType) -> str:
    """The LLVM type of one lane, as a value."""
    if dtype.is_bool:
        return "i1"
    if dtype.is_integer:
        return f"i{dtype.bits}"
    if dtype.is_float and dtype.bits in _FLOATS:
        return _FLOATS[dtype.bits]
    if dtype.is_handle:
        return "ptr"
    raise DTypeError(
        message(
            f"machine code for values of {dtype}",
            found="a type that the LLVM backend has no form for",
            legal="bool, integers, float16, float32, float64, handle; narrower floats are lowered "
            "to these by tir.LegalizeNarrowFloats, custom types by tir.LowerCustomDatatypes",
        )
    )


def vector_of(element: str, lanes: int, scalable: bool = False) -> str:
    """The LLVM vector type; a scalar for one lane."""
    if lanes == 1 and not scalable:
        return element
    return f"<{'vscale x ' if scalable else ''}{lanes} x {element}>"


@_memoized
def value_type(dtype: DataType) -> str:
    """The LLVM type of a value."""
    if dtype.is_void:
        return "void"
    return vector_of(element_type(dtype), dtype.lanes, dtype.is_scalable)


@_memoized
def memory_element(dtype: DataType) -> str:
    """The LLVM type of one lane in memory."""
    return f"i{held_bits(dtype)}" if is_padded(dtype) else element_type(dtype)


@_memoized
def memory_type(dtype: DataType) -> str:
    """The LLVM type in memory."""
    return vector_of(memory_element(dtype), dtype.lanes, dtype.is_scalable)


@_memoized
def element_bytes(dtype: DataType) -> int:
    """Bytes of one lane in memory."""
    return held_bits(dtype) // 8


def int_literal(dtype: DataType, value: int) -> str:
    """An integer or bool literal."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_uint and value >= 1 << (dtype.bits - 1):
        value -= 1 << dtype.bits  # LLVM's integers have no sign; this is the same bit pattern
    return str(value)


def float_literal(dtype: DataType, value: float) -> str:
    """A floating literal, exact to the last bit."""
    if dtype.bits == 16:
        return f"0xH{_half_bits(value):04X}"
    if dtype.bits == 32:
        value = _rounded_to_float32(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _rounded_to_float32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _half_bits(value: float) -> int:
    try:
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


_ESCAPES: Final = {b: f"\\{b:02X}" for b in range(256) if not 32 <= b < 127 or b in (34, 92)}


def bytes_literal(data: bytes) -> str:
    """A byte array in LLVM's notation."""
    return data.decode("latin-1").translate(_ESCAPES)


def string_global(name: str, text: str) -> str:
    """A zero-terminated string as a global of the module."""
    data = text.encode() + b"\0"
    return f'@{name} = private constant [{len(data)} x i8] c"{bytes_literal(data)}"'


@_memoized
def quoted(name: str) -> str:
    """A global name, quoted if it has unusual letters."""
    plain = name.replace("_", "a").replace(".", "a").replace("$", "a")
    if plain.isascii() and plain.isalnum() and not name[0].isdigit():
        return f"@{name}"
    return '@"' + "".join(c if c.isprintable() and c not in '"\\' and c.isascii()
                          else "".join(f"\\{b:02X}" for b in c.encode())
                          for c in name) + '"'  # fmt: skip
