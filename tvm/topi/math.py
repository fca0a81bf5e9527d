"""Operators on one operand, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.ir.span import Span
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr

from . import tag
from .broadcast import maximum, minimum
from .common import compute, stage

Operand = Any


def _elementwise(x: te.Tensor, rule: Callable[[PrimExpr], PrimExpr]) -> te.Tensor:
    return compute(x.shape, lambda *i: rule(x(*i)), tag=tag.ELEMWISE)


@explained
def identity(x: te.Tensor) -> te.Tensor:
    """x."""
    return _elementwise(x, lambda v: v)


@explained
def negative(x: te.Tensor) -> te.Tensor:
    """-x; numbers without a sign wrap, as in C."""
    if str(x.dtype).startswith("uint"):
        return _elementwise(x, lambda v: tir.const(0, v.dtype) - v)
    return _elementwise(x, lambda v: -v)


@explained
def exp(x: te.Tensor) -> te.Tensor:
    """e to the power x."""
    return _elementwise(x, te.exp)


@explained
def erf(x: te.Tensor) -> te.Tensor:
    """The error function."""
    return _elementwise(x, te.erf)


@explained
def tanh(x: te.Tensor) -> te.Tensor:
    """Hyperbolic tangent."""
    return _elementwise(x, te.tanh)


@explained
def tan(x: te.Tensor) -> te.Tensor:
    """Tangent."""
    return _elementwise(x, te.tan)


@explained
def cos(x: te.Tensor) -> te.Tensor:
    """Cosine."""
    return _elementwise(x, te.cos)


@explained
def cosh(x: te.Tensor) -> te.Tensor:
    """Hyperbolic cosine."""
    return _elementwise(x, te.cosh)


@explained
def sin(x: te.Tensor) -> te.Tensor:
    """Sine."""
    return _elementwise(x, te.sin)


@explained
def sinh(x: te.Tensor) -> te.Tensor:
    """Hyperbolic sine."""
    return _elementwise(x, te.sinh)


@explained
def acos(x: te.Tensor) -> te.Tensor:
    """Inverse cosine."""
    return _elementwise(x, te.acos)


@explained
def acosh(x: te.Tensor) -> te.Tensor:
    """Inverse hyperbolic cosine."""
    return _elementwise(x, te.acosh)


@explained
def asin(x: te.Tensor) -> te.Tensor:
    """Inverse sine."""
    return _elementwise(x, te.asin)


@explained
def asinh(x: te.Tensor) -> te.Tensor:
    """Inverse hyperbolic sine."""
    return _elementwise(x, te.asinh)


@explained
def atan(x: te.Tensor) -> te.Tensor:
    """Inverse tangent."""
    return _elementwise(x, te.atan)


@explained
def atanh(x: te.Tensor) -> te.Tensor:
    """Inverse hyperbolic tangent."""
    return _elementwise(x, te.atanh)


@explained
def floor(x: te.Tensor) -> te.Tensor:
    """The largest whole number not above x."""
    return _elementwise(x, te.floor)


@explained
def ceil(x: te.Tensor) -> te.Tensor:
    """The smallest whole number not below x."""
    return _elementwise(x, te.ceil)


@explained
def sign(x: te.Tensor) -> te.Tensor:
    """-1, 0 or 1, by the sign of x."""

    def rule(v: PrimExpr) -> PrimExpr:
        zero, one = tir.const(0, v.dtype), tir.const(1, v.dtype)
        below = zero if v.dtype.is_uint else tir.const(-1, v.dtype)
        return tir.Select(v > zero, one, tir.Select(v < zero, below, zero))

    return stage(x.shape, lambda *i: rule(x(*i)), "T_sign", tag.ELEMWISE)


@explained
def trunc(x: te.Tensor) -> te.Tensor:
    """x without its fraction."""
    return _elementwise(x, te.trunc)


@explained
def abs(x: te.Tensor) -> te.Tensor:
    """|x|."""
    return _elementwise(x, te.abs)


@explained
def isnan(x: te.Tensor) -> te.Tensor:
    """x is not a number."""
    return _elementwise(x, te.isnan)


@explained
def isfinite(x: te.Tensor) -> te.Tensor:
    """x is neither infinite nor not a number."""
    return _elementwise(x, te.isfinite)


@explained
def isinf(x: te.Tensor) -> te.Tensor:
    """x is infinite."""
    return _elementwise(x, te.isinf)


@explained
def round(x: te.Tensor) -> te.Tensor:
    """The nearest whole number, halves to even."""
    return _elementwise(x, te.round)


@explained
def log(x: te.Tensor) -> te.Tensor:
    """Natural logarithm."""
    return _elementwise(x, te.log)


@explained
def log2(x: te.Tensor) -> te.Tensor:
    """Logarithm to base 2."""
    return _elementwise(x, te.log2)


@explained
def log10(x: te.Tensor) -> te.Tensor:
    """Logarithm to base 10."""
    return _elementwise(x, te.log10)


@explained
def sqrt(x: te.Tensor) -> te.Tensor:
    """Square root."""
    return _elementwise(x, te.sqrt)


@explained
def rsqrt(x: te.Tensor) -> te.Tensor:
    """1 / sqrt(x)."""
    return _elementwise(x, te.rsqrt)


@explained
def sigmoid(x: te.Tensor) -> te.Tensor:
    """1 / (1 + exp(-x))."""
    return _elementwise(x, te.sigmoid)


def left_shift(x: te.Tensor, n: int) -> te.Tensor:
    """x << n."""
    return _elementwise(x, lambda v: v << n)


def right_shift(x: te.Tensor, n: int) -> te.Tensor:
    """x >> n."""
    return _elementwise(x, lambda v: v >> n)


@explained
def clip(x: te.Tensor, a_min: Operand, a_max: Operand) -> te.Tensor:
    """x, at least `a_min` and at most `a_max`; the limits are numbers or tensors of rank 0."""

    def limit(bound: Operand) -> PrimExpr:
        value = bound() if isinstance(bound, te.Tensor) else bound
        if isinstance(value, (tir.IntImm, tir.FloatImm)):
            value = value.value
        return tir.const(value, x.dtype) if isinstance(value, PrimExpr) else _limit(value, x)

    return _elementwise(x, lambda v: te.max(te.min(v, limit(a_max)), limit(a_min)))


def _limit(value: float, x: te.Tensor) -> PrimExpr:
    """A bound in the type of x, itself clipped to what the type holds."""
    if not x.dtype.is_integer:
        return tir.const(value, x.dtype)
    low, high = tir.min_value(x.dtype), tir.max_value(x.dtype)
    assert isinstance(low, tir.IntImm), "integer types have integer limits"
    assert isinstance(high, tir.IntImm), "integer types have integer limits"
    if value >= high.value:
        return high
    return low if value <= low.value else tir.const(int(value), x.dtype)


@explained
def fixed_point_multiply(x: te.Tensor, multiplier: int, shift: int) -> te.Tensor:
    """x * multiplier * 2**(shift - 31), rounded: a scale in fixed-point numbers."""
    factor, fraction_bits, by = (tir.const(v, "int32") for v in (multiplier, 31, shift))
    return _elementwise(x, lambda v: tir.q_multiply_shift(v, factor, fraction_bits, by))


@explained
def fixed_point_multiply_per_axis(
    x: te.Tensor,
    y: te.Tensor,
    lshift: te.Tensor,
    rshift: te.Tensor,
    is_lshift_required: int,
    is_rshift_required: int,
    axes: Any,
) -> te.Tensor:
    """fixed_point_multiply with a multiplier and shifts of their own along `axes`."""
    left, right = tir.const(bool(is_lshift_required)), tir.const(bool(is_rshift_required))

    def element(*i: Any) -> PrimExpr:
        own = tuple(i[int(axis)] for axis in axes)
        return tir.q_multiply_shift_per_axis(
            x(*i), y(*own), lshift(*own), rshift(*own), tir.const(31, "int32"), left, right
        )

    return compute(x.shape, element, tag=tag.ELEMWISE)


@explained
def cast(x: Any, dtype: Any, span: Span | None = None) -> Any:
    """x converted to `dtype`: a tensor, or a single expression."""
    if isinstance(x, te.Tensor) and (x.ndim > 0 or span is None):
        return compute(x.shape, lambda *i: x(*i).astype(dtype), tag=tag.ELEMWISE)
    return tir.Cast(dtype, as_expr(x), span)


@explained
def reinterpret(x: te.Tensor, dtype: Any) -> te.Tensor:
    """The bits of x read as another type of the same size."""
    return stage(x.shape, lambda *i: tir.reinterpret(dtype, x(*i)), "tensor", tag.ELEMWISE)


@explained
def fast_exp(x: te.Tensor) -> te.Tensor:
    """exp(x) by a polynomial, for float32; others take exp.

    exp(x) = 2**n * exp(f) with n = floor(x / ln 2 + 1/2); exp(f) for |f| <= ln(2) / 2 by Cephes'
    degree-5 polynomial (S. L. Moshier, Methods and Programs for Mathematical Functions, 1989).
    """
    if x.dtype != "float32":
        return stage(x.shape, lambda *i: te.exp(x(*i)), "T_fast_exp", tag.ELEMWISE)
    def rule(v: PrimExpr) -> PrimExpr:
        bounded = te.max(te.min(v, _f32(88.3762626647950)), _f32(-88.3762626647949))
        n = te.floor(bounded * _f32(1.44269504088896341) + _f32(0.5))
        f = bounded - n * _f32(0.6931471805599453)
        y = _f32(_EXP_P[0])
        for c in _EXP_P[1:]:
            y = y * f + _f32(c)
        y = y * f * f + f + _f32(1)
        bits = (n + _f32(127)).astype("int32") << 23
        value: PrimExpr = te.max(tir.reinterpret(v.dtype, bits) * y, v)
        return value

    return stage(x.shape, lambda *i: rule(x(*i)), "T_fast_exp", tag.ELEMWISE)


def _f32(value: float) -> PrimExpr:
    """A literal as float32 holds it."""
    return tir.const(float(np.float32(value)), "float32")


_EXP_P = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
          5.0000001201e-1)  # fmt: skip
# tanh(x) = x P(x^2) / Q(x^2) on [-9, 9], outside of which tanh is +-1 in float32
_TANH_P = (-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11,
           5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04,
           4.89352455891786e-03)  # fmt: skip
_TANH_Q = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
# erf(x) = x P(x^2) / Q(x^2) on [-4, 4]
_ERF_P = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06,
          -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03,
          -1.60960333262415e-02)  # fmt: skip
_ERF_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
          -7.37332916720468e-03, -1.42647390514189e-02)  # fmt: skip


def _rational(x: PrimExpr, p: Sequence[PrimExpr], q: Sequence[PrimExpr]) -> PrimExpr:
    """x P(x^2) / Q(x^2), the coefficients of the highest powers first (Horner's rule)."""
    square = x * x
    above, below = p[0], q[0]
    for c in p[1:]:
        above = square * above + c
    for c in q[1:]:
        below = square * below + c
    return tir.div(x * above, below)


@explained
def fast_tanh(x: te.Tensor) -> te.Tensor:
    """tanh(x) as a quotient of polynomials, for float32; others take tanh."""
    if x.dtype != "float32":
        return stage(x.shape, lambda *i: te.tanh(x(*i)), "T_fast_tanh", tag.ELEMWISE)
    limit = tir.const(9, x.dtype)
    bounded = maximum(tir.const(-9, x.dtype), minimum(limit, x))
    p, q = ([tir.const(c, x.dtype) for c in part] for part in (_TANH_P, _TANH_Q))
    return stage(x.shape, lambda *i: _rational(bounded(*i), p, q), "T_fast_tanh", tag.ELEMWISE)


@explained
def fast_erf(x: te.Tensor) -> te.Tensor:
    """erf(x) as a quotient of polynomials, for float32 and float16; others take erf."""
    if x.dtype not in ("float32", "float16"):
        return stage(x.shape, lambda *i: te.erf(x(*i)), "T_erf", tag.ELEMWISE)
    p, q = ([_f32(c) for c in part] for part in (_ERF_P, _ERF_Q))

    def rule(v: PrimExpr) -> PrimExpr:
        # float16 holds too few digits of the coefficients: the result would exceed 1
        wide = v.astype("float32")
        bounded = te.max(te.min(wide, tir.const(4, wide.dtype)), tir.const(-4, wide.dtype))
        return _rational(bounded, p, q).astype(v.dtype)

    return stage(x.shape, lambda *i: rule(x(*i)), "T_fast_erf", tag.ELEMWISE)


@explained
def ceil_log2(x: Any) -> PrimExpr:
    """The least n with 2**n >= x, for an integer or floating x >= 1."""
    x = as_expr(x)
    if x.dtype.is_floating:
        return tir.ceil(tir.log2(x))
    if isinstance(x, tir.IntImm):
        return tir.const(max(int(x.value) - 1, 0).bit_length(), x.dtype)
    width = tir.const(x.dtype.bits, x.dtype)
    return tir.Select(x <= 1, tir.const(0, x.dtype), width - tir.clz(x - 1).astype(x.dtype))
