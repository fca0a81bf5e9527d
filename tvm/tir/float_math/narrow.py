"""Narrow floats to float32 and back, in arithmetic of 32-bit integers.

Neither way meets a denormal float32 unless the result is one, so that machines which take those for
zero convert alike.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.support.narrow_floats import FloatFormat, decode, encode
from tvm.tir import expr as e
from tvm.tir.op import arith, builtin
from tvm.tir.op import math as math_ops

from .steps import Steps

_WORD: Final = "uint32"
_INFINITY: Final = 0x7F800000
_NAN: Final = 0x7FC00000
_SIZE: Final = 0x7FFFFFFF  # all bits but the sign
_MANTISSA, _BIAS = 23, 127


def carrier(form: FloatFormat, like: DataType) -> DataType:
    """The unsigned integers that hold a format, with as many lanes as `like`."""
    return DataType(f"uint{form.carrier_bits}").with_lanes(like.lanes, like.is_scalable)


def widen(code: PrimExpr, form: FloatFormat) -> PrimExpr:
    """The float32 that a code (an unsigned integer) stands for."""
    if isinstance(code, e.IntImm):
        return e.FloatImm("float32", decode(code.value, form), code.span)
    if isinstance(code, e.Broadcast):
        return e.Broadcast(widen(code.value, form), code.lanes, code.span)
    steps = _steps(code.dtype)
    bits = arith.cast(code, steps.typed(_WORD))
    if _is_upper_half(form):
        return steps.from_bits(bits << _word(steps, 16))
    return steps.result(steps.from_bits(_widened(steps, steps.let("code", bits), form)))


def _widened(steps: Steps, code: PrimExpr, form: FloatFormat) -> PrimExpr:
    """The bits of the float32."""

    def word(value: int) -> PrimExpr:
        return _word(steps, value)

    if not form.signed:
        number = steps.select(arith.equal(code, word(0)), word(1 << 22), code << word(_MANTISSA))
        return steps.select(arith.equal(code, word(form.nan)), word(_NAN), number)
    shift, one = _MANTISSA - form.mantissa, (_BIAS + 1 - form.bias) << _MANTISSA  # of `least`
    least = steps.const(2.0 ** (1 - form.bias))
    body = steps.let("body", code & word(form.sign - 1))
    moved = steps.let("moved", body << word(shift))
    normal = moved + word(one - (1 << _MANTISSA))
    # below the normal numbers: a mantissa without its leading one, which is taken off again
    small = steps.let("tiny", _bits(steps, steps.from_bits(moved + word(one)) - least))
    wide = steps.select(body < word(1 << form.mantissa), small, normal)
    if form.infinity is not None:
        digits = (body & word((1 << form.mantissa) - 1)) << word(shift)
        wide = steps.select(body >= word(form.infinity), digits | word(_INFINITY), wide)
    elif not form.all_numbers:
        asked = body if form.negative_zero else code
        wide = steps.select(arith.equal(asked, word(form.nan)), word(_NAN), wide)
    return wide | (code & word(form.sign)) << word(32 - form.bits)


def narrow(value: PrimExpr, form: FloatFormat) -> PrimExpr:
    """The code of the nearest number to a float32, or to a float64 which is rounded once."""
    if isinstance(value, e.FloatImm):
        return e.IntImm(carrier(form, value.dtype), encode(value.value, form), value.span)
    if isinstance(value, e.Broadcast):
        return e.Broadcast(narrow(value.value, form), value.lanes, value.span)
    steps = _steps(value.dtype)
    value = steps.let("value", value)
    if _is_upper_half(form):
        code = _upper_half(steps, value)
    else:
        double = value.dtype.bits == 64
        bits = _bits_of_double(steps, value) if double else _bits(steps, value)
        code = _narrowed(steps, steps.let("bits", bits), form)
    return steps.result(arith.cast(code, carrier(form, steps.dtype)))


def _bits_of_double(steps: Steps, value: PrimExpr) -> PrimExpr:
    """A float32 whose last bit tells whether digits are missing, which decides ties."""
    single = steps.let("single", arith.cast(value, steps.dtype))
    bits = steps.let("single_bits", _bits(steps, single))
    back = steps.let("back", arith.cast(single, value.dtype))
    missing = arith.logical_and(
        arith.not_equal(back, value), (bits & _word(steps, _SIZE)) < _word(steps, _INFINITY)
    )
    too_large = math_ops.abs(back) > math_ops.abs(value)
    lower = bits - arith.cast(too_large, bits.dtype)
    return steps.select(missing, lower | _word(steps, 1), bits)


def _narrowed(steps: Steps, bits: PrimExpr, form: FloatFormat) -> PrimExpr:
    """The code, from the bits of a float32."""

    def word(value: int) -> PrimExpr:
        return _word(steps, value)

    if not form.signed:
        # zero, negative numbers, infinities and NaN are the bits from 0x7F800000 on, less one
        none = bits - word(1) >= word(_INFINITY - 1)
        nearest = (bits + word(1 << 22)) >> word(_MANTISSA)
        nearest = steps.select(bits <= word(1 << 22), word(0), nearest)
        return steps.select(none, word(form.nan), nearest)
    shift = _MANTISSA - form.mantissa
    body = steps.let("body", bits & word(_SIZE))
    normal = (_rounded(steps, body, shift) - word((_BIAS - form.bias) << _MANTISSA)) >> word(shift)
    # below the normal numbers: after adding this, the float unit rounds at the right bit
    added = _bits(steps, steps.from_bits(body) + steps.const(2.0 ** (1 - form.bias + shift)))
    small = steps.let("tiny", added - word((_BIAS + 1 - form.bias + shift) << _MANTISSA))
    code: PrimExpr = steps.let(
        "rounded",
        steps.select(body < word((_BIAS + 1 - form.bias) << _MANTISSA), small, normal),
    )
    code = steps.select(code > word(form.largest), word(form.overflow), code)
    sign = (bits >> word(32 - form.bits)) & word(form.sign)
    nan = body > word(_INFINITY)
    if form.all_numbers:  # what is not a number becomes a zero of the other sign, as in ml_dtypes
        return steps.select(nan, sign ^ word(form.sign), code | sign)
    code = steps.select(nan, word(form.nan), code)
    if form.negative_zero:
        return code | sign
    code = steps.let("unsigned", code)
    return steps.select(arith.equal(code, word(0)), code, code | sign)


def _upper_half(steps: Steps, value: PrimExpr) -> PrimExpr:
    bits = steps.let("bits", _bits(steps, value))
    quiet = bits | _word(steps, 1 << 22)  # of what is no number, part of the digits stay
    rounded = steps.select(math_ops.isnan(value), quiet, _rounded(steps, bits, 16))
    return rounded >> _word(steps, 16)


def _rounded(steps: Steps, bits: PrimExpr, shift: int) -> PrimExpr:
    """To nearest, ties to even, before so many bits are dropped."""
    odd = (bits >> _word(steps, shift)) & _word(steps, 1)
    return bits + odd + _word(steps, (1 << (shift - 1)) - 1)


def _is_upper_half(form: FloatFormat) -> bool:
    return form.bits == 16 and form.bias == _BIAS


def _steps(like: DataType) -> Steps:
    return Steps(DataType("float32").with_lanes(like.lanes, like.is_scalable))


def _word(steps: Steps, value: int) -> PrimExpr:
    return steps.const(value, _WORD)


def _bits(steps: Steps, value: PrimExpr) -> PrimExpr:
    return builtin.reinterpret(steps.typed(_WORD), value)
