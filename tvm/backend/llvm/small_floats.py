"""bfloat16 and 8-bit floats: conversion to and from float32 in integer arithmetic.

The formats are those of the OCP 8-bit floating point specification, revision 1.0; bfloat16 is the
upper half of a float32. Rounding is to nearest, ties to even.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tvm.error import DTypeError, message
from tvm.support.dtype import DataType

from .types import float_literal, value_type

if TYPE_CHECKING:
    from .expr import ExprEmitter

# exponent bits, mantissa bits, bias, and the largest finite value of each format
_FORMATS: dict[str, tuple[int, int, int, float]] = {
    "float8_e4m3fn": (4, 3, 7, 448.0),
    "float8_e5m2": (5, 2, 15, 57344.0),
}


def _like(dtype: DataType, element: str) -> DataType:
    return DataType(element).with_lanes(dtype.lanes, dtype.is_scalable)


class _Ints:
    """32-bit integer arithmetic with as many lanes as `dtype`."""

    def __init__(self, emit: ExprEmitter, dtype: DataType) -> None:
        self.emit = emit
        self.dtype = _like(dtype, "int32")
        self.kind = value_type(self.dtype)

    def op(self, name: str, a: str, b: str | int) -> str:
        """a `name` b."""
        other = self.emit.splat(self.dtype, str(b)) if isinstance(b, int) else b
        return self.emit.out.temp(f"{name} {self.kind} {a}, {other}")

    def pick(self, condition: str, a: str | int, b: str | int) -> str:
        """condition ? a : b."""
        x = self.emit.splat(self.dtype, str(a)) if isinstance(a, int) else a
        y = self.emit.splat(self.dtype, str(b)) if isinstance(b, int) else b
        return self.emit.select(self.dtype, condition, x, y)


def widen(emit: ExprEmitter, source: DataType, value: str) -> str:
    """A small float as float32."""
    out, ints = emit.out, _Ints(emit, source)
    bits = out.temp(f"zext {value_type(source)} {value} to {ints.kind}")
    single = _like(source, "float32")
    if source.is_bfloat16:
        high = ints.op("shl", bits, 16)
        return out.temp(f"bitcast {ints.kind} {high} to {value_type(single)}")
    _, mantissa, bias, _ = _format(source)
    sign = ints.op("shl", ints.op("and", bits, 0x80), 24)
    body = ints.op("and", bits, 0x7F)
    # The bits, moved into a float32, are the value times 2**(bias - 127); this also gives
    # subnormals their value, as the multiplication is exact.
    moved = ints.op("shl", body, 23 - mantissa)
    raw = out.temp(f"bitcast {ints.kind} {moved} to {value_type(single)}")
    scale = emit.splat(single, _literal(2.0 ** (127 - bias)))
    value32 = out.temp(f"fmul {value_type(single)} {raw}, {scale}")
    as_bits = out.temp(f"bitcast {value_type(single)} {value32} to {ints.kind}")
    if source == "float8_e4m3fn" or source.element_of() == "float8_e4m3fn":
        special = ints.op("icmp eq", body, 0x7F)
        as_bits = ints.pick(special, 0x7FC00000, as_bits)
    else:
        special = ints.op("icmp uge", body, 0x7C)
        rest = ints.op("shl", ints.op("and", body, 0x03), 21)
        as_bits = ints.pick(special, ints.op("or", rest, 0x7F800000), as_bits)
    signed = ints.op("or", as_bits, sign)
    return out.temp(f"bitcast {ints.kind} {signed} to {value_type(single)}")


def narrow(emit: ExprEmitter, target: DataType, value: str) -> str:
    """A float32 as a small float."""
    out, ints = emit.out, _Ints(emit, target)
    single = value_type(_like(target, "float32"))
    bits = out.temp(f"bitcast {single} {value} to {ints.kind}")
    if not target.is_bfloat16:
        return _narrow_to_8(emit, target, value, bits)
    odd = ints.op("and", ints.op("lshr", bits, 16), 1)
    rounded = ints.op("add", ints.op("add", bits, odd), 0x7FFF)
    is_nan = out.temp(f"fcmp uno {single} {value}, {value}")
    chosen = ints.pick(is_nan, ints.op("or", bits, 0x00400000), rounded)
    high = ints.op("lshr", chosen, 16)
    return out.temp(f"trunc {ints.kind} {high} to {value_type(target)}")


def _narrow_to_8(emit: ExprEmitter, target: DataType, value: str, bits: str) -> str:
    out, ints = emit.out, _Ints(emit, target)
    single = _like(target, "float32")
    _, mantissa, bias, largest = _format(target)
    has_inf = target.element_of() == "float8_e5m2"
    sign = ints.op("and", ints.op("lshr", bits, 24), 0x80)
    body = ints.op("and", bits, 0x7FFFFFFF)
    shift = 23 - mantissa
    # normal results: rebias the exponent, round the mantissa
    odd = ints.op("and", ints.op("lshr", body, shift), 1)
    half = (1 << (shift - 1)) - 1
    rebiased = ints.op("sub", ints.op("add", ints.op("add", body, odd), half), (127 - bias) << 23)
    normal = ints.op("lshr", rebiased, shift)
    # subnormal results: adding a power of two lets the float unit round at the right place
    magic_bits = (127 - bias + shift + 1) << 23
    positive = out.temp(f"bitcast {ints.kind} {body} to {value_type(single)}")
    magic = out.temp(
        f"bitcast {ints.kind} {emit.splat(ints.dtype, str(magic_bits))} to {value_type(single)}"
    )
    added = out.temp(f"fadd {value_type(single)} {positive}, {magic}")
    added_bits = out.temp(f"bitcast {value_type(single)} {added} to {ints.kind}")
    small = ints.op("sub", added_bits, magic_bits)
    is_small = ints.op("icmp ult", body, (128 - bias) << 23)
    result = ints.pick(is_small, small, normal)
    # too large, infinite or not a number
    top = 0x7C if has_inf else 0x7F
    too_large = ints.op("icmp ugt", result, top - 1)
    result = ints.pick(too_large, top, result)
    outside = ints.op("icmp ugt", body, _float_bits(largest * (1 + 2.0 ** -(mantissa + 1))))
    result = ints.pick(outside, top, result)
    is_nan = ints.op("icmp ugt", body, 0x7F800000)
    result = ints.pick(is_nan, 0x7E if has_inf else 0x7F, result)
    signed = ints.op("or", result, sign)
    return out.temp(f"trunc {ints.kind} {signed} to {value_type(target)}")


def _format(dtype: DataType) -> tuple[int, int, int, float]:
    found = _FORMATS.get(str(dtype.element_of()))
    if found is None:
        raise DTypeError(
            message(
                f"machine code for {dtype}",
                found="no conversion of this format",
                legal=", ".join(["bfloat16", *_FORMATS]),
            )
        )
    return found


def _literal(value: float) -> str:
    return float_literal(DataType("float32"), value)


def _float_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
