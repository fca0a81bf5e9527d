"""Special functions of torch that no operator of Relax has: Bessel's, polygamma, of the normal law.

Source: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.2 (normal law).
"""

from __future__ import annotations

import math
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend import special
from tvm.topi.loops import load, locals_, parallel, repeat_while, sequence, store, when

from .elementwise import erfc, erfinv, lgamma
from .registry import convert
from .values import Expr, cast, dtype_of, floating, matched_floats, scalar, together


def _declare_bessel() -> None:
    rows = (
        (("i0", "special_i0", "special_modified_bessel_i0"), 0, False),
        (("special_i0e",), 0, True),
        (("special_i1", "special_modified_bessel_i1"), 1, False),
        (("special_i1e",), 1, True),
    )
    for names, order, scaled in rows:

        def bessel(
            bb: BlockBuilder, input: Expr, order: int = order, scaled: bool = scaled
        ) -> Any:
            return special.bessel_i(bb, floating(bb, input), order, scaled=scaled)

        convert(*names)(bessel)


_declare_bessel()


@convert("special_zeta")
def zeta(bb: BlockBuilder, self: Any, other: Any) -> Any:
    """Hurwitz's zeta function of order `self` from `other` on."""
    s, q = matched_floats(bb, self, other)
    dtype = dtype_of(s)
    s, q = together(bb, s, q)
    return cast(bb, special.zeta(bb, s, q), dtype)


@convert("polygamma", "special_polygamma")
def polygamma(bb: BlockBuilder, n: Any, input: Any) -> Any:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n+1, x)."""
    if isinstance(n, RelaxExpr):  # the method of a tensor has the order behind it
        n, input = input, n
    if n < 0:
        raise ValueError(f"polygamma: n {n}; legal: not negative")
    return special.polygamma(bb, n, floating(bb, input))


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


@convert("special_log_ndtr")
def log_ndtr(bb: BlockBuilder, input: Expr) -> Any:
    return special.log_ndtr(bb, floating(bb, input))


@convert("special_erfcx")
def erfcx(bb: BlockBuilder, input: Expr) -> Any:
    return special.erfcx(bb, floating(bb, input))


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
