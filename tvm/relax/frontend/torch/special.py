"""Special functions of torch that no operator of Relax has: Bessel's, polygamma, of the normal law.

Computed in double precision, one kernel each. Sources: Abramowitz and Stegun, "Handbook of
Mathematical Functions", 9.6.10 and 9.7.1 (Bessel), 23.2 (zeta), 6.4 (polygamma), 26.2 (normal law).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.topi.loops import load, locals_, parallel, repeat_while, sequence, store, when

from .elementwise import digamma, erfc, erfinv, lgamma
from .registry import convert
from .values import Expr, cast, dtype_of, floating, matched_floats, product, scalar, sizes, together

_NEAR: Final = 20.0  # the power series below, the asymptotic one from here on
_POWERS: Final = 50
_TAIL: Final = 20
# Bernoulli's numbers B_2, B_4, ... over (2j)!, of Euler and Maclaurin's formula
_EULER_MACLAURIN: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip
_FAR: Final = 10.0


def _polynomial(coefficients: Sequence[float], x: PrimExpr) -> PrimExpr:
    """By Horner's rule, the constant first."""
    found: PrimExpr = tir.const(coefficients[-1], "float64")
    for one in coefficients[-2::-1]:
        found = found * x + tir.const(one, "float64")
    return found


def _mapped(
    bb: BlockBuilder, x: Expr, rule: Callable[[PrimExpr], PrimExpr], name: str
) -> RelaxExpr:
    """`rule` of each element, in double precision."""

    def compute(given: te.Tensor) -> te.Tensor:
        made: te.Tensor = te.compute(
            given.shape, lambda *i: rule(given(*i).astype("float64")).astype(given.dtype), name=name
        )
        return made

    return bb.emit_te(compute, floating(bb, x), primfunc_name_hint=name)


# --- modified Bessel functions of the first kind ---


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


def _declare_bessel() -> None:
    rows = (
        (("i0", "special_i0", "special_modified_bessel_i0"), 0, False),
        (("special_i0e",), 0, True),
        (("special_i1", "special_modified_bessel_i1"), 1, False),
        (("special_i1e",), 1, True),
    )
    for names, order, scaled in rows:
        rule = _bessel_i(order, scaled)

        def bessel(bb: BlockBuilder, input: Expr, rule: Any = rule, name: str = names[0]) -> Any:
            return _mapped(bb, input, rule, name)

        convert(*names)(bessel)


_declare_bessel()


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


def _zeta(bb: BlockBuilder, s: Expr, q: Expr) -> RelaxExpr:
    """Of tensors of one shape, in double precision."""
    shape = sizes(q)
    flat = [
        bb.emit(op.reshape(cast(bb, x, "float64"), [product(shape)])) for x in (s, q)
    ]
    made = bb.emit_te(_zeta_kernel, *flat, primfunc_name_hint="zeta")
    return bb.emit(op.reshape(made, shape))


@convert("special_zeta")
def zeta(bb: BlockBuilder, self: Any, other: Any) -> Any:
    """Hurwitz's zeta function of order `self` from `other` on."""
    s, q = matched_floats(bb, self, other)
    dtype = dtype_of(s)
    s, q = together(bb, s, q)
    return cast(bb, _zeta(bb, s, q), dtype)


@convert("polygamma", "special_polygamma")
def polygamma(bb: BlockBuilder, n: Any, input: Any) -> Any:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n+1, x)."""
    if isinstance(n, RelaxExpr):  # the method of a tensor has the order behind it
        n, input = input, n
    if n < 0:
        raise ValueError(f"polygamma: n {n}; legal: not negative")
    if n == 0:
        return digamma(bb, input)
    x = floating(bb, input)
    order = op.full(sizes(x), scalar(n + 1.0, "float64"), "float64")
    found = _zeta(bb, bb.emit(order), x)
    factor = scalar((-1.0) ** (n + 1) * math.factorial(n), "float64")
    return cast(bb, bb.emit(op.multiply(found, factor)), dtype_of(x))


@convert("mvlgamma", "special_multigammaln")
def mvlgamma(bb: BlockBuilder, input: Expr, p: int) -> Any:
    """log of the multivariate gamma function: the sum of lgamma(x - j/2) and a constant."""
    x = floating(bb, input)
    total: Any = scalar(p * (p - 1) / 4 * math.log(math.pi), dtype_of(x))
    for j in range(p):
        shifted = x if j == 0 else bb.emit(op.subtract(x, scalar(j / 2, dtype_of(x))))
        total = bb.emit(op.add(bb.emit(lgamma(bb, shifted)), total))
    return total


# --- the normal law, entropies ---


@convert("special_ndtr")
def ndtr(bb: BlockBuilder, input: Expr) -> Any:
    """How likely a normal number is below: erfc(-x / sqrt 2) / 2."""
    x = floating(bb, input)
    turned = bb.emit(op.multiply(x, scalar(-math.sqrt(0.5), dtype_of(x))))
    return op.multiply(erfc(bb, turned), scalar(0.5, dtype_of(x)))


@convert("special_ndtri")
def ndtri(bb: BlockBuilder, input: Expr) -> Any:
    """The inverse of `ndtr`: sqrt 2 erfinv(2 p - 1)."""
    x = cast(bb, floating(bb, input), "float64")
    one, two = scalar(1.0, "float64"), scalar(2.0, "float64")
    found = erfinv(bb, bb.emit(op.subtract(op.multiply(x, two), one)))
    scaled = bb.emit(op.multiply(found, scalar(math.sqrt(2.0), "float64")))
    return cast(bb, scaled, dtype_of(floating(bb, input)))


@convert("special_entr")
def entr(bb: BlockBuilder, input: Expr) -> Any:
    """-x log x; 0 at 0, and -infinity below."""
    x = floating(bb, input)
    dtype = dtype_of(x)
    zero = scalar(0.0, dtype)
    inside = op.greater(x, zero)
    value = op.negative(op.multiply(x, op.log(op.where(inside, x, scalar(1.0, dtype)))))
    outside = op.where(op.less(x, zero), scalar(-math.inf, dtype), op.multiply(x, zero))
    return op.where(inside, value, outside)


@convert("special_xlog1py")
def xlog1py(bb: BlockBuilder, self: Any, other: Any) -> Any:
    """x log(1 + y), and 0 where x is 0."""
    from .elementwise import log1p

    a, b = matched_floats(bb, self, other)
    zero = scalar(0.0, dtype_of(a))
    value = op.where(op.equal(a, zero), zero, op.multiply(a, log1p(bb, b)))
    return op.where(op.isnan(b), b, value)


# --- the most frequent element ---


def most_frequent(values: te.Tensor, places: te.Tensor) -> Any:
    """The value that is most often in each sorted row, the smallest of those, and its last place.

    (rows,) and int64 (rows,) of (rows, n) twice.
    """
    rows, n = values.shape
    kinds = [values.dtype, "int64"]

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, at = ins

        def row(b: PrimExpr) -> tir.Stmt:
            def counted(own: tir.Buffer, best: tir.Buffer, i: tir.Buffer) -> tir.Stmt:
                here = load(i, 0)
                last = tir.any(
                    here == n - 1,
                    load(given, b, here) != load(given, b, tir.min(here + 1, n - 1)),
                )
                kept = sequence(
                    store(best, load(own, 0), 0), store(outs[0], load(given, b, here), b),
                    store(outs[1], load(at, b, here), b),
                )  # fmt: skip
                ended = sequence(
                    when(load(own, 0) > load(best, 0), kept), store(own, 0, 0)
                )
                step = sequence(
                    store(own, load(own, 0) + 1, 0), when(last, ended),
                    store(i, here + 1, 0),
                )  # fmt: skip
                return sequence(
                    store(own, 0, 0), store(best, 0, 0), store(i, 0, 0),
                    repeat_while(load(i, 0) < n, step),
                )  # fmt: skip

            return locals_(["int64"] * 3, counted, ["own", "best", "i"])

        return parallel(rows, row, "b")

    buffers = [tir.decl_buffer([rows], kind, name) for kind, name in zip(kinds, ("value", "place"))]
    return te.extern(
        [[rows], [rows]], [values, places], run, dtype=kinds, out_buffers=buffers, name="mode",
        tag="mode",
    )  # fmt: skip
