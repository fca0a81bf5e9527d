"""Digits of floating literals: with an exponent, six digits, and more where a value needs them."""

from __future__ import annotations

import math
import struct
from typing import Literal


def float_digits(value: float, bits: Literal[32, 64]) -> str:
    """`1.000000e+00`; empty where the type has no such finite number."""
    single = _nearest(value, bits)
    if not math.isfinite(single):
        return ""
    for digits in range(6, 18):
        text = f"{single:.{digits}e}"
        if _nearest(float(text), bits) == single:
            return text
    raise AssertionError("17 digits tell any double")


def _nearest(value: float, bits: int) -> float:
    if bits == 64 or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
