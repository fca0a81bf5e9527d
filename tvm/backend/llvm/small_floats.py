"""bfloat16 and floats of 8, 6 and 4 bits: conversion to and from float32 in integer arithmetic.

The formats are those of the OCP 8-bit floating point specification, revision 1.0, of its
microscaling formats (e8m0, and those of 6 and 4 bits), and the kinds without negative zero of
arXiv:2206.02915; bfloat16 is the upper half of a float32. Rounding is to nearest, ties to even
(e8m0: ties up).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tvm.support.dtype import DataType

from .types import float_literal, value_type

if TYPE_CHECKING:
    from .expr import ExprEmitter


class Format(NamedTuple):
    """How a sign, an exponent and a mantissa stand in a few bits, and what has no number."""

    mantissa: int
    bias: int
    infinity: int | None = None  # code of infinity; what is above is no number
    negative_zero: bool = True  # where it is missing, its code stands for NaN
    width: int = 8

    @property
    def sign(self) -> int:
        """The code of the sign alone."""
        return 1 << (self.width - 1)

    @property
    def all_numbers(self) -> bool:
        """Whether every code is a number: too large ones become the largest."""
        return self.width < 8

    @property
    def nan(self) -> int:
        """The code of NaN."""
        if not self.negative_zero:
            return 0x80
        return 0x7F if self.infinity is None else self.infinity | 1 << (self.mantissa - 1)


_FORMATS: Final[dict[str, Format]] = {
    "float8_e3m4": Format(4, 3, infinity=0x70),
    "float8_e4m3": Format(3, 7, infinity=0x78),
    "float8_e4m3b11fnuz": Format(3, 11, negative_zero=False),
    "float8_e4m3fn": Format(3, 7),
    "float8_e4m3fnuz": Format(3, 8, negative_zero=False),
    "float8_e5m2": Format(2, 15, infinity=0x7C),
    "float8_e5m2fnuz": Format(2, 16, negative_zero=False),
    "float6_e2m3fn": Format(3, 1, width=6),
    "float6_e3m2fn": Format(2, 3, width=6),
    "float4_e2m1fn": Format(1, 1, width=4),
}
_POWERS: Final = "float8_e8m0fnu"  # an exponent and nothing else
_NAN: Final = 0x7FC00000


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
    if str(source.element_of()) == _POWERS:
        normal = ints.pick(ints.op("icmp eq", bits, 0), 0x00400000, ints.op("shl", bits, 23))
        raw = ints.pick(ints.op("icmp eq", bits, 0xFF), _NAN, normal)
        return out.temp(f"bitcast {ints.kind} {raw} to {value_type(single)}")
    form = _format(source)
    sign = ints.op("shl", ints.op("and", bits, form.sign), 32 - form.width)
    body = ints.op("and", bits, form.sign - 1)
    # The bits, moved into a float32, are the value times 2**(bias - 127); this also gives
    # subnormals their value, as the multiplication is exact.
    moved = ints.op("shl", body, 23 - form.mantissa)
    raw = out.temp(f"bitcast {ints.kind} {moved} to {value_type(single)}")
    scale = emit.splat(single, _literal(2.0 ** (127 - form.bias)))
    value32 = out.temp(f"fmul {value_type(single)} {raw}, {scale}")
    as_bits = out.temp(f"bitcast {value_type(single)} {value32} to {ints.kind}")
    if form.all_numbers:
        pass
    elif not form.negative_zero:
        as_bits = ints.pick(ints.op("icmp eq", bits, form.nan), _NAN, as_bits)
    elif form.infinity is None:
        as_bits = ints.pick(ints.op("icmp eq", body, form.nan), _NAN, as_bits)
    else:
        special = ints.op("icmp uge", body, form.infinity)
        digits = ints.op("and", body, (1 << form.mantissa) - 1)
        rest = ints.op("shl", digits, 23 - form.mantissa)
        as_bits = ints.pick(special, ints.op("or", rest, 0x7F800000), as_bits)
    signed = ints.op("or", as_bits, sign)
    return out.temp(f"bitcast {ints.kind} {signed} to {value_type(single)}")


def narrow(emit: ExprEmitter, target: DataType, value: str) -> str:
    """A float32 as a small float."""
    out, ints = emit.out, _Ints(emit, target)
    single = value_type(_like(target, "float32"))
    bits = out.temp(f"bitcast {single} {value} to {ints.kind}")
    if str(target.element_of()) == _POWERS:
        return _narrow_to_power(emit, target, bits)
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
    form = _format(target)
    sign = ints.op("and", ints.op("lshr", bits, 32 - form.width), form.sign)
    body = ints.op("and", bits, 0x7FFFFFFF)
    shift = 23 - form.mantissa
    # normal results: rebias the exponent, round the mantissa
    odd = ints.op("and", ints.op("lshr", body, shift), 1)
    half = (1 << (shift - 1)) - 1
    rounded = ints.op("add", ints.op("add", body, odd), half)
    normal = ints.op("lshr", ints.op("sub", rounded, (127 - form.bias) << 23), shift)
    # subnormal results: adding a power of two lets the float unit round at the right place
    magic_bits = (127 - form.bias + shift + 1) << 23
    positive = out.temp(f"bitcast {ints.kind} {body} to {value_type(single)}")
    magic = out.temp(
        f"bitcast {ints.kind} {emit.splat(ints.dtype, str(magic_bits))} to {value_type(single)}"
    )
    added = out.temp(f"fadd {value_type(single)} {positive}, {magic}")
    added_bits = out.temp(f"bitcast {value_type(single)} {added} to {ints.kind}")
    small = ints.op("sub", added_bits, magic_bits)
    is_small = ints.op("icmp ult", body, (128 - form.bias) << 23)
    result = ints.pick(is_small, small, normal)
    # too large, infinite or not a number
    is_nan = ints.op("icmp ugt", body, 0x7F800000)
    if form.all_numbers:  # what is not a number becomes a zero of the other sign, as in ml_dtypes
        largest = form.sign - 1
        result = ints.pick(ints.op("icmp ugt", result, largest), largest, result)
        zero = ints.op("xor", sign, form.sign)
        signed = ints.pick(is_nan, zero, ints.op("or", result, sign))
        return out.temp(f"trunc {ints.kind} {signed} to {value_type(target)}")
    top = form.nan if form.infinity is None else form.infinity
    last = 0x7F if not form.negative_zero else top - 1
    result = ints.pick(ints.op("icmp ugt", result, last), top, result)
    result = ints.pick(is_nan, form.nan, result)
    signed = ints.op("or", result, sign)
    if not form.negative_zero:  # 0x80 is no number, and zero has no sign
        signed = ints.pick(ints.op("icmp eq", result, 0), 0, signed)
    return out.temp(f"trunc {ints.kind} {signed} to {value_type(target)}")


def _narrow_to_power(emit: ExprEmitter, target: DataType, bits: str) -> str:
    """The nearest power of two; NaN for what is not positive."""
    ints = _Ints(emit, target)
    nearest = ints.op("lshr", ints.op("add", bits, 1 << 22), 23)
    # zero, negative numbers, infinities and NaN are the bits from 0x7F800000 on, less one
    outside = ints.op("icmp uge", ints.op("sub", bits, 1), 0x7F7FFFFF)
    code = ints.pick(outside, 0xFF, nearest)
    return emit.out.temp(f"trunc {ints.kind} {code} to {value_type(target)}")


def _format(dtype: DataType) -> Format:
    return _FORMATS[str(dtype.element_of())]


def _literal(value: float) -> str:
    return float_literal(DataType("float32"), value)

