"""Formats of narrow floats: codes and numbers as ml_dtypes has them."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tvm.support.narrow_floats import FORMATS, FloatFormat, decode, encode

pytestmark = pytest.mark.pure


def numpy_type(name: str) -> np.dtype:
    return np.dtype("float16" if name == "float16" else getattr(ml_dtypes, name))


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_is_its_number(name: str) -> None:
    form = FORMATS[name]
    count = min(1 << form.bits, 1 << 13)
    codes = np.linspace(0, (1 << form.bits) - 1, count).astype(f"uint{form.carrier_bits}")
    with np.errstate(invalid="ignore"):
        expected = codes.view(numpy_type(name)).astype("float64")
    made = np.array([decode(int(code), form) for code in codes])
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(np.signbit(made), np.signbit(expected) & ~np.isnan(expected))
    numbers = ~np.isnan(made)
    back = [encode(float(value), form) for value in made[numbers]]
    np.testing.assert_array_equal(back, codes[numbers])


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_are_rounded_to_the_nearest(name: str) -> None:
    rng = np.random.default_rng(0)
    size = np.exp2(rng.integers(-150, 128, 3000).astype("float64"))
    values = (rng.uniform(-2, 2, 3000) * size).astype("float32")
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 65504, 65520,
             2.0**-127, 1.5 * 2.0**-127, 2.0**-126, 3.39e38]  # fmt: skip
    values = np.concatenate([values, np.array(edges, "float32"), np.arange(1, 2048) / 1024])
    values = values.astype("float32")
    with np.errstate(all="ignore"):
        expected = values.astype(numpy_type(name)).view(f"uint{FORMATS[name].carrier_bits}")
    made = np.array([encode(float(value), FORMATS[name]) for value in values])
    np.testing.assert_array_equal(made, expected)


def test_codes_without_a_number() -> None:
    assert FORMATS["float16"].nan == 0x7E00
    assert FORMATS["float8_e4m3fn"].nan == 0x7F
    assert FORMATS["float8_e5m2fnuz"].nan == 0x80
    assert FORMATS["float8_e8m0fnu"].nan == 0xFF
    assert FORMATS["float4_e2m1fn"].all_numbers
    assert math.isnan(decode(0x7C01, FORMATS["float16"]))
    assert encode(1e9, FORMATS["float6_e2m3fn"]) == FORMATS["float6_e2m3fn"].largest


def test_half_is_rounded_once_from_a_double() -> None:
    value = 1 + 2.0**-11 + 2.0**-40
    assert encode(value, FloatFormat(16, 10, 15, infinity=0x7C00)) == 0x3C01
