"""Floating formats of 16 bits and less, and single numbers to their bits and back.

The formats are those of IEEE 754 (float16), of the OCP 8-bit floating point specification, revision
1.0, of its microscaling formats (e8m0, and those of 6 and 4 bits), and the kinds without negative
zero of arXiv:2206.02915; bfloat16 is the upper half of a float32. Numbers are rounded to nearest,
ties to even (e8m0: ties up).
"""

from __future__ import annotations

import math
import struct
from typing import Final, NamedTuple


class FloatFormat(NamedTuple):
    """How a sign, an exponent and a mantissa lie in a few bits, and which codes are no numbers."""

    bits: int
    mantissa: int
    bias: int
    infinity: int | None = None  # code of infinity; what is above is NaN
    negative_zero: bool = True  # where it is missing, its code stands for NaN
    signed: bool = True  # without a sign, and then without a zero: powers of two

    @property
    def carrier_bits(self) -> int:
        """The width of the unsigned integer that holds a code, in memory as in registers."""
        return max(self.bits, 8)

    @property
    def sign(self) -> int:
        """The code of the sign alone."""
        return 1 << (self.bits - 1)

    @property
    def all_numbers(self) -> bool:
        """Whether every code is a number: too large ones become the largest."""
        return self.bits < 8

    @property
    def nan(self) -> int:
        """The code of NaN."""
        if not self.signed:
            return (1 << self.bits) - 1
        if not self.negative_zero:
            return self.sign
        if self.infinity is None:
            return self.sign - 1
        return self.infinity | 1 << (self.mantissa - 1)

    @property
    def overflow(self) -> int:
        """The code that stands for what is too large."""
        if self.all_numbers:
            return self.sign - 1
        return self.nan if self.infinity is None else self.infinity

    @property
    def largest(self) -> int:
        """The code of the largest number."""
        if not self.signed:
            return self.nan - 1
        if self.all_numbers or not self.negative_zero:
            return self.sign - 1
        return self.overflow - 1


FORMATS: Final[dict[str, FloatFormat]] = {
    "float16": FloatFormat(16, 10, 15, infinity=0x7C00),
    "bfloat16": FloatFormat(16, 7, 127, infinity=0x7F80),
    "float8_e3m4": FloatFormat(8, 4, 3, infinity=0x70),
    "float8_e4m3": FloatFormat(8, 3, 7, infinity=0x78),
    "float8_e4m3b11fnuz": FloatFormat(8, 3, 11, negative_zero=False),
    "float8_e4m3fn": FloatFormat(8, 3, 7),
    "float8_e4m3fnuz": FloatFormat(8, 3, 8, negative_zero=False),
    "float8_e5m2": FloatFormat(8, 2, 15, infinity=0x7C),
    "float8_e5m2fnuz": FloatFormat(8, 2, 16, negative_zero=False),
    "float8_e8m0fnu": FloatFormat(8, 0, 127, negative_zero=False, signed=False),
    "float6_e2m3fn": FloatFormat(6, 3, 1),
    "float6_e3m2fn": FloatFormat(6, 2, 3),
    "float4_e2m1fn": FloatFormat(4, 1, 1),
}


def decode(code: int, form: FloatFormat) -> float:
    """The number that a code stands for."""
    if not form.signed:
        return math.nan if code == form.nan else math.ldexp(1.0, code - form.bias)
    body, sign = code & (form.sign - 1), -1.0 if code & form.sign else 1.0
    if not form.all_numbers:
        no_number = code == form.nan if not form.negative_zero else body > form.largest
        if no_number and body == form.infinity:
            return sign * math.inf
        if no_number:
            return math.nan
    exponent, digits = body >> form.mantissa, body & ((1 << form.mantissa) - 1)
    if exponent == 0:
        return sign * math.ldexp(digits, 1 - form.bias - form.mantissa)
    whole = digits | 1 << form.mantissa
    return sign * math.ldexp(whole, exponent - form.bias - form.mantissa)


def encode(value: float, form: FloatFormat) -> int:
    """The code of the nearest number; formats narrower than float16 round a float32 to it."""
    wide = value if form.mantissa > 7 else _as_float32(value)
    if not form.signed:
        return _encode_power(wide, form)
    sign = form.sign if math.copysign(1.0, wide) < 0 else 0
    if math.isnan(wide):
        if form.all_numbers:  # zero of the other sign, as in ml_dtypes
            return sign ^ form.sign
        return form.nan if not form.negative_zero else sign | form.nan
    body = form.overflow if math.isinf(wide) else _encode_size(abs(wide), form)
    if body > form.largest:
        body = form.overflow
    if not form.negative_zero and body in (0, form.nan):
        return body
    return sign | body


def _encode_size(size: float, form: FloatFormat) -> int:
    """The code of a positive number, not yet limited above."""
    exponent = max(math.frexp(size)[1] - 1, 1 - form.bias) if size else 1 - form.bias
    # `round` takes the even one of two; what it makes carries into the exponent
    digits = round(math.ldexp(size, form.mantissa - exponent))
    return ((exponent - 1 + form.bias) << form.mantissa) + digits


def _encode_power(value: float, form: FloatFormat) -> int:
    if not 0 < value < math.inf:
        return form.nan
    if value <= math.ldexp(1.0, -form.bias):
        return 0
    digits, exponent = math.frexp(value)  # value = digits * 2**exponent, 0.5 <= digits < 1
    # above the smallest it is the second at least: ml_dtypes does not round there
    return min(max(exponent - 1 + form.bias + (digits >= 0.75), 1), form.nan)


def _as_float32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
