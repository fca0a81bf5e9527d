"""Math functions on numbers: f(x), and a few of two operands."""

from __future__ import annotations

import math as _math
from collections.abc import Callable
from typing import Any

from tvm.error import DTypeError
from tvm.ir.expr import PrimExpr
from tvm.ir.span import Span
from tvm.support.dtype import DataType
from tvm.target.datatype import find_min_func
from tvm.tir import expr as e
from tvm.tir import scalar
from tvm.tir.expr import BOOL, FloatImm, IntImm, as_expr, make_const

from . import arith
from .declare import PURE, intrinsic

Operand = Any


def _float_operand(name: str, x: Operand) -> PrimExpr:
    """The operand of a floating function; integers are taken as float32, as scripts expect."""
    value = as_expr(x)
    if value.dtype.is_floating or value.dtype.is_custom:
        return value
    if value.dtype.is_integer or value.dtype.is_bool:
        return arith.cast(value, DataType("float32").with_lanes(value.dtype.lanes))
    raise DTypeError(f"tir.{name}: the operand is {value.dtype}; legal: a floating type")


def _unary(name: str, doc: str) -> Callable[..., PrimExpr]:
    op = intrinsic(name, PURE, 1, vectorizable=True)

    def call(x: Operand, span: Span | None = None) -> PrimExpr:
        value = _float_operand(name, x)
        return e.Call(value.dtype, op, (value,), span)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


exp = _unary("exp", "e to the power x.")
exp2 = _unary("exp2", "2 to the power x.")
exp10 = _unary("exp10", "10 to the power x.")
erf = _unary("erf", "The error function.")
tanh = _unary("tanh", "Hyperbolic tangent.")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).")
log = _unary("log", "Natural logarithm.")
log2 = _unary("log2", "Logarithm to base 2.")
log10 = _unary("log10", "Logarithm to base 10.")
log1p = _unary("log1p", "Logarithm of 1 + x, exact near zero.")
tan = _unary("tan", "Tangent.")
cos = _unary("cos", "Cosine.")
cosh = _unary("cosh", "Hyperbolic cosine.")
acos = _unary("acos", "Inverse cosine.")
acosh = _unary("acosh", "Inverse hyperbolic cosine.")
sin = _unary("sin", "Sine.")
sinh = _unary("sinh", "Hyperbolic sine.")
asin = _unary("asin", "Inverse sine.")
asinh = _unary("asinh", "Inverse hyperbolic sine.")
atan = _unary("atan", "Inverse tangent.")
atanh = _unary("atanh", "Inverse hyperbolic tangent.")
sqrt = _unary("sqrt", "Square root.")
rsqrt = _unary("rsqrt", "1 / sqrt(x).")


def _rounding(name: str, doc: str, rule: Callable[[float], float]) -> Callable[..., PrimExpr]:
    op = intrinsic(name, PURE, 1, vectorizable=True)

    def call(x: Operand, span: Span | None = None) -> PrimExpr:
        value = as_expr(x)
        if value.dtype.is_integer or value.dtype.is_bool:
            return value
        if isinstance(value, FloatImm):
            if not _math.isfinite(value.value):
                return value
            folded = scalar.unary_float(rule, value.value, value.dtype)
            if folded is not None:
                return FloatImm(value.dtype, folded, span)
        return e.Call(value.dtype, op, (value,), span)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


floor = _rounding("floor", "The largest whole number not above x.", _math.floor)
ceil = _rounding("ceil", "The smallest whole number not below x.", _math.ceil)
trunc = _rounding("trunc", "x without its fraction.", _math.trunc)
round = _rounding("round", "The nearest whole number, halves to even.", lambda x: _round_even(x))
nearbyint = _rounding(
    "nearbyint", "The nearest whole number, halves to even.", lambda x: _round_even(x)
)


def _round_even(x: float) -> float:
    low = _math.floor(x)
    fraction = x - low
    if fraction == 0.5:
        return float(low if low % 2 == 0 else low + 1)
    return float(low if fraction < 0.5 else low + 1)


_fabs = intrinsic("fabs", PURE, 1, vectorizable=True)
_isnan = intrinsic("isnan", PURE, 1, vectorizable=True)
_isinf = intrinsic("isinf", PURE, 1, vectorizable=True)
_isfinite = intrinsic("isfinite", PURE, 1, vectorizable=True)
_pow = intrinsic("pow", PURE, 2, vectorizable=True)
_clz = intrinsic("clz", PURE, 1, vectorizable=True)
_popcount = intrinsic("popcount", PURE, 1, vectorizable=True)
_ctpop = intrinsic("ctpop", PURE, 1, vectorizable=True)
_fma = intrinsic("fma", PURE, 3, vectorizable=True)
_large_uint_imm = intrinsic("large_uint_imm", PURE, 2)


def abs(x: Operand, span: Span | None = None) -> PrimExpr:
    """|x|; the least integer of a type stays as it is."""
    value = as_expr(x)
    if value.dtype.is_uint or value.dtype.is_bool:
        return value
    if isinstance(value, IntImm) and value.value == -(1 << (value.dtype.bits - 1)):
        return value
    if isinstance(value, (IntImm, FloatImm)):
        return make_const(value.value if value.value >= 0 else -value.value, value.dtype, span)
    if value.dtype.is_int:
        zero = make_const(0, value.dtype)
        negated = arith.subtract(zero, value, span)
        return e.Select(arith.greater_equal(value, zero), value, negated, span)
    return e.Call(value.dtype, _fabs, (value,), span)


def _classify(
    name: str, x: Operand, of_int: bool, rule: Callable[[float], bool], span: Span | None
) -> PrimExpr:
    value = as_expr(x)
    result = BOOL.with_lanes(value.dtype.lanes, value.dtype.is_scalable)
    if value.dtype.is_handle:
        raise DTypeError(f"tir.{name}: the operand is {value.dtype}; legal: a number")
    if value.dtype.is_integer or value.dtype.is_bool:
        return make_const(of_int, result, span)
    if isinstance(value, FloatImm):
        return make_const(rule(value.value), result, span)
    if name == "isnan" and value.dtype.is_float and value.dtype.bits == 16:
        value = arith.cast(value, value.dtype.with_bits(32), span)  # half has no compare of its own
    return e.Call(result, f"tir.{name}", (value,), span)


def isnan(x: Operand, span: Span | None = None) -> PrimExpr:
    """x is not a number."""
    return _classify("isnan", x, False, _math.isnan, span)


def _is_ieee(value: PrimExpr) -> bool:
    """One number of an IEEE type that is not known yet."""
    return value.dtype.is_float and value.dtype.is_scalar and not isinstance(value, FloatImm)


def isinf(x: Operand, span: Span | None = None) -> PrimExpr:
    """x is infinite; of IEEE types, a comparison of its magnitude."""
    value = as_expr(x)
    if not _is_ieee(value):
        return _classify("isinf", value, False, _math.isinf, span)
    endless = arith.equal(abs(value, span), infinity(value.dtype, span), span)
    return arith.logical_and(endless, arith.logical_not(isnan(value, span), span), span)


def isfinite(x: Operand, span: Span | None = None) -> PrimExpr:
    """x is neither infinite nor not a number."""
    value = as_expr(x)
    if not _is_ieee(value):
        return _classify("isfinite", value, True, _math.isfinite, span)
    return arith.logical_and(
        arith.logical_not(isinf(value, span), span),
        arith.logical_not(isnan(value, span), span),
        span,
    )


def power(x: Operand, y: Operand, span: Span | None = None) -> PrimExpr:
    """x to the power y; both are matched to one type first."""
    a, b = arith.match_types(x, y, span)
    if not (a.dtype.is_floating or a.dtype.is_integer):
        raise DTypeError(f"tir.pow: the operands are {a.dtype}; legal: numbers")
    if arith.is_one(b):
        return a
    return e.Call(a.dtype, _pow, (a, b), span)


pow = power


def _binary_float(name: str, doc: str) -> Callable[..., PrimExpr]:
    op = intrinsic(name, PURE, 2, vectorizable=True)

    def call(x1: Operand, x2: Operand, span: Span | None = None) -> PrimExpr:
        a, b = as_expr(x1), as_expr(x2)
        if name != "ldexp":
            a, b = arith.match_types(a, b, span)
        return e.Call(a.dtype, op, (a, b), span)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


atan2 = _binary_float("atan2", "The angle of the point (x2, x1).")
nextafter = _binary_float("nextafter", "The next number after x1 towards x2.")
hypot = _binary_float("hypot", "sqrt(x1 * x1 + x2 * x2) without overflow.")
copysign = _binary_float("copysign", "x1 with the sign of x2.")
ldexp = _binary_float("ldexp", "x1 times 2 to the integer power x2.")
_fmod = _binary_float("fmod", "")


def fmod(x: Operand, y: Operand) -> PrimExpr:
    """The remainder of x / y, with the sign of x."""
    return _fmod(x, y)


def fma(a: Operand, b: Operand, c: Operand, span: Span | None = None) -> PrimExpr:
    """a * b + c with a single rounding."""
    x, y = arith.match_types(a, b, span)
    return e.Call(x.dtype, _fma, (x, y, arith.cast(c, x.dtype)), span)


def logaddexp(a: Operand, b: Operand, span: Span | None = None) -> PrimExpr:
    """log(exp(a) + exp(b)), computed from the larger one so that nothing overflows."""
    x, y = arith.match_types(a, b, span)
    larger = arith.max_of(x, y)
    smaller = arith.min_of(x, y)
    return arith.add(larger, log1p(exp(arith.subtract(smaller, larger))), span)


def clz(x: Operand) -> PrimExpr:
    """The number of leading zero bits, as int32."""
    value = as_expr(x)
    return e.Call(DataType("int32").with_lanes(value.dtype.lanes), _clz, (value,))


def popcount(x: Operand) -> PrimExpr:
    """The number of one bits."""
    value = as_expr(x)
    return e.Call(value.dtype, _popcount, (value,))


def min_value(dtype: Any, span: Span | None = None) -> PrimExpr:
    """The smallest finite value of a type."""
    kind = DataType(dtype)
    if kind.is_custom:
        smallest: PrimExpr = find_min_func(kind)(kind.bits)
        return smallest
    if kind.is_floating:
        if kind == "float8_e8m0fnu":  # powers of two, without a sign
            return FloatImm(kind, 2.0**-127, span)
        return FloatImm(kind, -_largest(kind), span)
    return IntImm(kind, scalar.int_range(kind)[0], span)


def max_value(dtype: Any, span: Span | None = None) -> PrimExpr:
    """The largest finite value of a type."""
    kind = DataType(dtype)
    if kind.is_floating:
        return FloatImm(kind, _largest(kind), span)
    return IntImm(kind, scalar.int_range(kind)[1], span)


def _largest(kind: DataType) -> float:
    return e.FLOAT_LIMITS.get(kind, 1.7976931348623157e308)


def infinity(dtype: Any, span: Span | None = None) -> PrimExpr:
    """Plus infinity of a floating type."""
    kind = DataType(dtype)
    if not kind.is_floating:
        raise DTypeError(f"Cannot decide infinity for type {kind}")
    return FloatImm(kind, _math.inf, span)
