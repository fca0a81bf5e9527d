"""Special functions that no operator of Relax has, in double precision.

Error function's inverse, gamma functions and their slopes, Hurwitz's zeta function, Bessel's. They
take float tensors and give the same data type. Sources: Abramowitz and Stegun, "Handbook of
Mathematical Functions", 6.1 and 6.3 (gamma), 6.4.10 (polygamma), 7.1.14 (erfc), 9.6.10 and 9.7.1
(Bessel), 23.2 (zeta).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, const
from tvm.relax.extents import extents_of
from tvm.relax.struct_info import TensorStructInfo
from tvm.topi.loops import load, locals_, parallel, repeat_while, sequence, store, when

_NEAR: Final = 20.0  # the power series below, the asymptotic one from here on
_POWERS: Final = 50
_TAIL: Final = 20
# Bernoulli's numbers B_2, B_4, ... over (2j)!, of Euler and Maclaurin's formula
_EULER_MACLAURIN: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip
_FAR: Final = 10.0


def number(value: float) -> Constant:
    """A number in double precision."""
    return const(value, "float64")


def _dtype(x: RelaxExpr) -> str:
    info = x.struct_info
    assert isinstance(info, TensorStructInfo), "asked of tensors"
    return str(info.dtype)


# --- error and gamma functions ---


def erfinv(bb: BlockBuilder, input: RelaxExpr) -> Any:
    """The inverse of erf: Winitzki's approximation, then steps of Newton, in double precision.

    Infinite at -1 and 1, NaN beyond.
    """
    dtype = _dtype(input)
    y = bb.emit(op.astype(input, "float64"))
    tail = bb.emit(op.log(op.multiply(op.subtract(number(1.0), y), op.add(number(1.0), y))))
    a = 0.147
    half = bb.emit(op.add(number(2 / (math.pi * a)), op.multiply(tail, number(0.5))))
    root = op.sqrt(op.subtract(op.multiply(half, half), op.divide(tail, number(a))))
    found = bb.emit(op.multiply(op.sign(y), op.sqrt(op.subtract(root, half))))
    for _ in range(3):
        slope = op.multiply(
            number(2 / math.sqrt(math.pi)), op.exp(op.negative(op.multiply(found, found)))
        )
        found = bb.emit(op.subtract(found, op.divide(op.subtract(op.erf(found), y), slope)))
    ends = op.equal(op.abs(y), number(1.0))
    return op.astype(op.where(ends, op.multiply(y, number(math.inf)), found), dtype)


_FRACTION: Final = 60  # steps of the continued fraction of erfc, enough from 2 on


def _erfcx_far(x: PrimExpr) -> PrimExpr:
    """e^(x^2) erfc(x) for x >= 2, by its continued fraction."""
    one = tir.const(1.0, "float64")
    half = one / (x * x * tir.const(2.0, "float64"))
    found: PrimExpr = one
    for k in range(_FRACTION, 0, -1):
        found = one + tir.const(float(k), "float64") * half / found
    return one / (x * tir.const(math.sqrt(math.pi), "float64") * found)


def erfc_of(x: PrimExpr) -> PrimExpr:
    """1 - erf(x), with all digits also where erf is nearly one."""
    y, two = x.astype("float64"), tir.const(2.0, "float64")
    far = _erfcx_far(tir.max(y, two)) * tir.exp(-y * y)
    found = tir.if_then_else(y < two, tir.const(1.0, "float64") - tir.erf(y), far)
    return tir.if_then_else(tir.isnan(y), y, found).astype(x.dtype)


def _erfcx_of(x: PrimExpr) -> PrimExpr:
    y, two = x.astype("float64"), tir.const(2.0, "float64")
    near = tir.exp(y * y) * (tir.const(1.0, "float64") - tir.erf(y))
    found = tir.if_then_else(y < two, near, _erfcx_far(tir.max(y, two)))
    return tir.if_then_else(tir.isnan(y), y, found).astype(x.dtype)


def _log_ndtr_of(x: PrimExpr) -> PrimExpr:
    """log(erfc(-x / sqrt 2) / 2), from -1 on by its distance from 0, before by erfcx."""
    y = x.astype("float64")
    half, root = tir.const(0.5, "float64"), tir.const(math.sqrt(0.5), "float64")
    upper = tir.log1p(-erfc_of(y * root) * half)
    lower = tir.log(_erfcx_of(-y * root) * half) - y * y * half
    return tir.if_then_else(y < tir.const(-1.0, "float64"), lower, upper).astype(x.dtype)


def erfc(bb: BlockBuilder, x: RelaxExpr) -> RelaxExpr:
    """1 - erf of each element, with all digits."""
    return _mapped(bb, x, erfc_of, "erfc")


def erfcx(bb: BlockBuilder, x: RelaxExpr) -> RelaxExpr:
    """e^(x^2) erfc(x) of each element."""
    return _mapped(bb, x, _erfcx_of, "erfcx")


def log_ndtr(bb: BlockBuilder, x: RelaxExpr) -> RelaxExpr:
    """The logarithm of how likely a normal number is below each element."""
    return _mapped(bb, x, _log_ndtr_of, "log_ndtr")


# Stirling's series in 1 / y**2, from y = 8 on; smaller arguments are brought there by recurrence.
_STEPS: Final = 8
_STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_STIRLING_SLOPE: Final = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _series(coefficients: tuple[float, ...], x: RelaxExpr) -> Any:
    """A polynomial in double precision, the constant first, by Horner's rule."""
    found: RelaxExpr = number(coefficients[-1])
    for one in coefficients[-2::-1]:
        found = op.add(op.multiply(found, x), number(one))
    return found


def _reflected(bb: BlockBuilder, x: RelaxExpr) -> tuple[RelaxExpr, RelaxExpr, RelaxExpr, RelaxExpr]:
    """Whether x is left of 1/2; x, or 1 - x there; whether that is small; what is not small."""
    left = bb.emit(op.less(x, number(0.5)))
    right = bb.emit(op.where(left, op.subtract(number(1.0), x), x))
    small = bb.emit(op.less(right, number(float(_STEPS))))
    far = bb.emit(op.where(small, op.add(right, number(float(_STEPS))), right))
    return left, right, small, far


def lgamma(bb: BlockBuilder, input: RelaxExpr) -> Any:
    """log |gamma|: Stirling's series after recurrence and reflection, in double precision."""
    x = bb.emit(op.astype(input, "float64"))
    left, right, small, far = _reflected(bb, x)
    product = right
    for k in range(1, _STEPS):
        product = bb.emit(op.multiply(product, op.add(right, number(float(k)))))
    inverse = bb.emit(op.divide(number(1.0), far))
    tail = op.multiply(inverse, _series(_STIRLING, bb.emit(op.multiply(inverse, inverse))))
    main = op.multiply(op.subtract(far, number(0.5)), op.subtract(op.log(far), number(1.0)))
    value: RelaxExpr = op.add(op.add(main, number(0.5 * math.log(2 * math.pi) - 0.5)), tail)
    value = bb.emit(op.subtract(value, op.log(op.where(small, product, number(1.0)))))
    away = op.abs(op.subtract(x, op.round(x)))
    sine = op.log(op.sin(op.multiply(away, number(math.pi))))
    mirrored = op.subtract(op.subtract(number(math.log(math.pi)), sine), value)
    found = op.where(left, mirrored, value)
    endless = op.equal(op.abs(x), number(math.inf))
    return op.astype(op.where(endless, number(math.inf), found), _dtype(input))


def digamma(bb: BlockBuilder, input: RelaxExpr) -> Any:
    """The slope of lgamma, by the same steps; NaN at -1, -2, ..., infinite at 0."""
    x = bb.emit(op.astype(input, "float64"))
    left, right, small, far = _reflected(bb, x)
    steps = bb.emit(op.divide(number(1.0), right))
    for k in range(1, _STEPS):
        step = op.divide(number(1.0), op.add(right, number(float(k))))
        steps = bb.emit(op.add(steps, step))
    inverse = bb.emit(op.divide(number(1.0), far))
    square = bb.emit(op.multiply(inverse, inverse))
    tail = op.add(
        op.multiply(inverse, number(0.5)), op.multiply(square, _series(_STIRLING_SLOPE, square))
    )
    value = bb.emit(
        op.subtract(op.subtract(op.log(far), tail), op.where(small, steps, number(0.0)))
    )
    away = bb.emit(op.subtract(x, op.round(x)))
    turned = op.divide(number(math.pi), op.tan(op.multiply(away, number(math.pi))))
    mirrored = op.where(op.equal(away, number(0.0)), number(math.nan), op.subtract(value, turned))
    mirrored = op.where(op.equal(x, number(0.0)), op.divide(number(-1.0), x), mirrored)
    return op.astype(op.where(left, mirrored, value), _dtype(input))


# --- modified Bessel functions of the first kind ---


def _polynomial(coefficients: Sequence[float], x: PrimExpr) -> PrimExpr:
    """By Horner's rule, the constant first."""
    found: PrimExpr = tir.const(coefficients[-1], "float64")
    for one in coefficients[-2::-1]:
        found = found * x + tir.const(one, "float64")
    return found


def _mapped(
    bb: BlockBuilder, x: RelaxExpr, rule: Callable[[PrimExpr], PrimExpr], name: str
) -> RelaxExpr:
    """`rule` of each element, in double precision."""

    def compute(given: te.Tensor) -> te.Tensor:
        made: te.Tensor = te.compute(
            given.shape, lambda *i: rule(given(*i).astype("float64")).astype(given.dtype), name=name
        )
        return made

    return bb.emit_te(compute, x, primfunc_name_hint=name)


def _bessel_i(order: int, scaled: bool) -> Callable[[PrimExpr], PrimExpr]:
    """I_0 or I_1; `scaled` by e^-|x|.

    (x/2)^v sum (x^2/4)^k / (k! (k+v)!), and e^x / sqrt(2 pi x) sum a_k(v) / (-x)^k far from zero.
    """
    near = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_POWERS)]
    far = [1.0]
    for k in range(1, _TAIL):
        far.append(-far[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8.0 * k))

    def rule(x: PrimExpr) -> PrimExpr:
        def number(value: float) -> PrimExpr:
            return tir.const(value, "float64")

        size = tir.abs(x)
        quarter = size * size * number(0.25)
        series = _polynomial(near, quarter)
        if order:
            series = series * size * number(0.5)
        is_near = size < number(_NEAR)
        large = tir.if_then_else(is_near, number(_NEAR), size)
        tail = _polynomial(far, number(1.0) / large) / tir.sqrt(number(2 * math.pi) * large)
        if scaled:
            series = series * tir.exp(-size)
        else:
            half = tir.exp(large * number(0.5))  # e^x itself is infinite earlier than I is
            tail = tail * half * half
            tail = tir.if_then_else(large < number(1e4), tail, number(math.inf))
        tail = tir.if_then_else(size == number(math.inf), number(0.0 if scaled else math.inf), tail)
        found = tir.if_then_else(is_near, series, tail)
        if order:
            found = tir.if_then_else(x < number(0.0), -found, found)
        return tir.if_then_else(tir.isnan(x), x, found)

    return rule


def bessel_i(bb: BlockBuilder, x: RelaxExpr, order: int, *, scaled: bool = False) -> RelaxExpr:
    """I_0 or I_1 of each element; `scaled` by e^-|x|."""
    return _mapped(bb, x, _bessel_i(order, scaled), f"bessel_i{order}{'e' if scaled else ''}")


# --- zeta and polygamma ---


def _zeta_kernel(s: te.Tensor, q: te.Tensor) -> te.Tensor:
    """sum over k >= 0 of (k + q)^-s; float64 (n,).

    Terms up to k + q > 10 one by one, the rest by Euler and Maclaurin's formula.
    """
    (count,) = q.shape

    def number(value: float) -> PrimExpr:
        return tir.const(value, "float64")

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        orders, starts, found = *ins, outs[0]

        def element(i: PrimExpr) -> tir.Stmt:
            order, start = load(orders, i), load(starts, i)

            def summed(at: tir.Buffer, total: tir.Buffer) -> tir.Stmt:
                term = tir.power(load(at, 0), -order)
                step = sequence(
                    store(total, load(total, 0) + term, 0), store(at, load(at, 0) + 1.0, 0)
                )
                # where whole numbers end, a step changes nothing more
                going = tir.all(load(at, 0) <= number(_FAR), load(at, 0) > number(-(2.0**40)))
                a = load(at, 0)
                rest = a / (order - number(1.0)) + number(0.5)
                rising: PrimExpr = order / a
                for j, one in enumerate(_EULER_MACLAURIN):
                    rest = rest + number(one) * rising
                    rising = rising * (order + number(2.0 * j + 1)) * (order + number(2.0 * j + 2))
                    rising = rising / (a * a)
                far = store(total, load(total, 0) + rest * tir.power(a, -order), 0)
                return sequence(
                    store(at, start, 0), store(total, 0.0, 0), repeat_while(going, step), far,
                    store(found, load(total, 0), i),
                )  # fmt: skip

            pole = tir.all(start <= number(0.0), tir.floor(start) == start)
            # powers of negative numbers are real for whole orders only
            undefined = tir.any(
                order < number(1.0), tir.isnan(order), tir.isnan(start),
                tir.all(start < number(0.0), tir.floor(order) != order),
            )  # fmt: skip
            return when(
                tir.any(order == number(1.0), tir.all(pole, tir.Not(undefined))),
                store(found, math.inf, i),
                when(
                    tir.any(undefined, start == number(math.inf)),
                    store(found, tir.if_then_else(undefined, number(math.nan), number(0.0)), i),
                    locals_(["float64", "float64"], summed, ["at", "total"]),
                ),
            )

        return parallel(count, element, "i")

    made: te.Tensor = te.extern(
        [[count]], [s, q], run, dtype=["float64"], name="zeta", tag="zeta",
        out_buffers=[tir.decl_buffer([count], "float64", "zeta")],
    )  # fmt: skip
    return made


def zeta(bb: BlockBuilder, s: RelaxExpr, q: RelaxExpr) -> RelaxExpr:
    """Of order s from q on, of tensors of one shape, which may be open; float64."""
    known = extents_of(q)
    assert known is not None, "asked of tensors of known rank"
    count: Any = 1
    for extent in known:
        count = count * extent
    flat = [
        bb.emit(op.reshape(bb.emit(op.astype(x, "float64")), [count])) for x in (s, q)
    ]
    made = bb.emit_te(_zeta_kernel, *flat, primfunc_name_hint="zeta")
    return bb.emit(op.reshape(made, known))


def polygamma(bb: BlockBuilder, n: int, x: RelaxExpr) -> Any:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n+1, x)."""
    if n == 0:
        return digamma(bb, x)
    order = bb.emit(op.full_like(x, number(n + 1.0), "float64"))
    factor = number((-1.0) ** (n + 1) * math.factorial(n))
    found = bb.emit(op.multiply(zeta(bb, order, x), factor))
    return op.astype(found, _dtype(x))
