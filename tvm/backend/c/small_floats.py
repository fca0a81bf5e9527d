"""Floats of 16 bits and less in C: conversion to and from float, on the bits.

The formats are those of IEEE 754 (float16), of the OCP 8-bit floating point specification, revision
1.0, of its microscaling formats (e8m0, and those of 6 and 4 bits), and the kinds without negative
zero of arXiv:2206.02915; bfloat16 is the upper half of a float. Rounding is to nearest, ties to
even (e8m0: ties up).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Helper(NamedTuple):
    """C text, the helpers that it uses itself, and the headers that declare what it calls."""

    text: str
    needs: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


class Format(NamedTuple):
    """How a sign, an exponent and a mantissa stand in a few bits, and what has no number."""

    width: int
    mantissa: int
    bias: int
    infinity: int | None = None  # code of infinity; what is above is no number
    negative_zero: bool = True  # where it is missing, its code stands for NaN

    @property
    def all_numbers(self) -> bool:
        """Whether every code is a number: too large ones become the largest."""
        return self.width < 8

    @property
    def carrier(self) -> str:
        """The C type that holds it."""
        return f"uint{max(self.width, 8)}_t"

    @property
    def nan(self) -> int:
        """The code of NaN."""
        if not self.negative_zero:
            return 1 << (self.width - 1)
        if self.infinity is None:
            return (1 << (self.width - 1)) - 1
        return self.infinity | 1 << (self.mantissa - 1)


# by the names that helpers carry
_FORMATS: Final[dict[str, Format]] = {
    "f16": Format(16, 10, 15, infinity=0x7C00),
    "f8_e3m4": Format(8, 4, 3, infinity=0x70),
    "f8_e4m3": Format(8, 3, 7, infinity=0x78),
    "f8_e4m3b11fnuz": Format(8, 3, 11, negative_zero=False),
    "f8_e4m3fn": Format(8, 3, 7),
    "f8_e4m3fnuz": Format(8, 3, 8, negative_zero=False),
    "f8_e5m2": Format(8, 2, 15, infinity=0x7C),
    "f8_e5m2fnuz": Format(8, 2, 16, negative_zero=False),
    "f6_e2m3fn": Format(6, 3, 1),
    "f6_e3m2fn": Format(6, 2, 3),
    "f4_e2m1fn": Format(4, 1, 1),
}
_STRING: Final = ("string.h",)


def _widening(name: str, form: Format) -> Helper:
    """The function from a format to float."""
    body_mask = (1 << (form.width - 1)) - 1
    if form.infinity is not None:
        digits = (1 << form.mantissa) - 1
        special = (
            f"  if (body >= 0x{form.infinity:x}U) {{\n"
            f"    return float_of_bits(sign | 0x7f800000U | (body & 0x{digits:x}U)"
            f" << {23 - form.mantissa});\n  }}\n"
        )
    elif form.all_numbers:
        special = ""
    else:
        asked = "body" if form.negative_zero else "x"
        special = f"  if ({asked} == 0x{form.nan:x}U) return float_of_bits(0x7fc00000U);\n"
    sign = f"x >> {form.width - 1}" + (" & 1" if form.all_numbers else "")
    return Helper(
        f"static inline float {name}_to_f32({form.carrier} x) {{\n"
        f"  uint32_t sign = (uint32_t)({sign}) << 31, body = x & 0x{body_mask:x}U;\n"
        f"{special}"
        f"  /* the bits, moved into a float, are the value times a power of two */\n"
        f"  return float_of_bits(sign | body << {23 - form.mantissa})"
        f" * 0x1p{127 - form.bias}f;\n}}",
        ("float_of_bits",),
    )


def _narrowing(name: str, form: Format) -> Helper:
    """The function from float to a format."""
    top = form.nan if form.infinity is None else form.infinity
    last = (1 << (form.width - 1)) - 1 if not form.negative_zero else top - 1
    zero = "" if form.negative_zero else "  if (y == 0) return 0;\n"
    nan = f"  if (body > 0x7f800000U) y = 0x{form.nan:x}U;\n"
    if form.all_numbers:  # what is not a number becomes a zero of the other sign, as in ml_dtypes
        top = last = (1 << (form.width - 1)) - 1
        nan = (
            "  if (body > 0x7f800000U) {\n"
            f"    return ({form.carrier})((bits >> 31 ^ 1U) << {form.width - 1});\n  }}\n"
        )
    return Helper(
        f"static inline {form.carrier} f32_to_{name}(float x) {{\n"
        "  uint32_t bits = bits_of_float(x), body = bits & 0x7fffffffU;\n"
        f"  uint32_t y = f32_to_small(body, {form.mantissa}, {form.bias});\n"
        f"  if (y > 0x{last:x}U) y = 0x{top:x}U;\n"
        f"{nan}{zero}"
        f"  return ({form.carrier})(bits >> 31 << {form.width - 1} | y);\n}}",
        ("f32_to_small",),
    )


SMALL_FLOAT_HELPERS: Final[dict[str, Helper]] = {
    "bits_of_float": Helper(
        """static inline uint32_t bits_of_float(float x) {
  uint32_t y;
  memcpy(&y, &x, sizeof y);
  return y;
}""",
        headers=_STRING,
    ),
    "float_of_bits": Helper(
        """static inline float float_of_bits(uint32_t x) {
  float y;
  memcpy(&y, &x, sizeof y);
  return y;
}""",
        headers=_STRING,
    ),
    "f32_to_small": Helper(
        """/* The bits of a positive float in a format of fewer bits, not yet limited above. */
static inline uint32_t f32_to_small(uint32_t body, int mantissa, int bias) {
  int shift = 23 - mantissa;
  if (body < (uint32_t)(128 - bias) << 23) {
    /* subnormal: after adding this, the float unit rounds at the right place */
    uint32_t magic = (uint32_t)(127 - bias + shift + 1) << 23;
    return bits_of_float(float_of_bits(body) + float_of_bits(magic)) - magic;
  }
  body += ((body >> shift) & 1U) + (1U << (shift - 1)) - 1U;
  return (body - ((uint32_t)(127 - bias) << 23)) >> shift;
}""",
        ("bits_of_float", "float_of_bits"),
    ),
    "bf16_to_f32": Helper(
        """static inline float bf16_to_f32(uint16_t x) {
  return float_of_bits((uint32_t)x << 16);
}""",
        ("float_of_bits",),
    ),
    "f32_to_bf16": Helper(
        """static inline uint16_t f32_to_bf16(float x) {
  uint32_t bits = bits_of_float(x);
  if (x != x) return (uint16_t)((bits | 0x00400000U) >> 16);
  return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}""",
        ("bits_of_float",),
    ),
    "f64_to_f16": Helper(
        """/* Rounded once: what float cannot hold marks its last bit, which decides ties. */
static inline uint16_t f64_to_f16(double x) {
  float y = (float)x;
  uint32_t bits = bits_of_float(y);
  if ((double)y != x && x == x && (bits & 0x7fffffffU) != 0x7f800000U) {
    if (fabs((double)y) > fabs(x)) bits -= 1U;
    y = float_of_bits(bits | 1U);
  }
  return f32_to_f16(y);
}""",
        ("f32_to_f16", "float_of_bits"),
        ("math.h",),
    ),
    "f8_e8m0fnu_to_f32": Helper(
        """/* An exponent and nothing else. */
static inline float f8_e8m0fnu_to_f32(uint8_t x) {
  if (x == 0xffU) return float_of_bits(0x7fc00000U);
  return float_of_bits(x == 0 ? 0x00400000U : (uint32_t)x << 23);
}""",
        ("float_of_bits",),
    ),
    "f32_to_f8_e8m0fnu": Helper(
        """/* The nearest power of two; not-a-number for what is not positive. */
static inline uint8_t f32_to_f8_e8m0fnu(float x) {
  uint32_t bits = bits_of_float(x);
  if (!(x > 0) || bits >= 0x7f800000U) return 0xffU;
  return (uint8_t)((bits + (1U << 22)) >> 23);
}""",
        ("bits_of_float",),
    ),
    **{f"{name}_to_f32": _widening(name, form) for name, form in _FORMATS.items()},
    **{f"f32_to_{name}": _narrowing(name, form) for name, form in _FORMATS.items()},
}
