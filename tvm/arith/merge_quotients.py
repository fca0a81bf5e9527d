"""A number that was split into quotient and remainder, and put together again.

    k // s * s + k % s                                 k
    k % p // s * s + k % p % s + k // p * p            k
    (i + k // s) * s + k % s                           i * s + k
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.op import arith as op
from tvm.tir.op.forms import terms_of

from .analyzer import Analyzer


def merge_quotients(expr: PrimExpr, analyzer: Analyzer | None = None) -> PrimExpr:
    """The sum, simplified, without pairs `x // y * y + x % y`, whatever their order."""
    analyzer = Analyzer() if analyzer is None else analyzer
    expr = analyzer.simplify(expr)
    while True:
        merged = _merge_one(terms_of(expr, e.Add), analyzer)
        if merged is None:
            return expr
        expr = analyzer.simplify(merged)


def _merge_one(terms: list[PrimExpr], analyzer: Analyzer) -> PrimExpr | None:
    """The sum with one pair merged; None where there is none."""
    for at, remainder in enumerate(terms):
        if not isinstance(remainder, e.FloorMod):
            continue
        wanted = op.multiply(op.floordiv(remainder.a, remainder.b), remainder.b)
        wanted = analyzer.simplify(wanted)
        for position, term in enumerate(terms):
            if position == at:
                continue
            left = [] if _equal(term, wanted, analyzer) else _without_quotient(
                term, remainder, analyzer
            )  # fmt: skip
            if left is not None:
                others = [t for i, t in enumerate(terms) if i not in (at, position)]
                total = remainder.a
                for other in [*left, *others]:
                    total = op.add(total, other)
                return total
    return None


def _without_quotient(
    term: PrimExpr, remainder: e.FloorMod, analyzer: Analyzer
) -> list[PrimExpr] | None:
    """(a + x // y) * y without x // y, as what is added up; None for other terms."""
    if not isinstance(term, e.Mul):
        return None
    for total, factor in ((term.a, term.b), (term.b, term.a)):
        if not isinstance(total, e.Add) or not _equal(factor, remainder.b, analyzer):
            continue
        parts = terms_of(total, e.Add)
        for at, part in enumerate(parts):
            same = isinstance(part, e.FloorDiv) and _equal(part.b, remainder.b, analyzer)
            if same and _equal(part.a, remainder.a, analyzer):  # type: ignore[attr-defined]
                return [op.multiply(p, factor) for i, p in enumerate(parts) if i != at]
    return None


def _equal(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> bool:
    return a.dtype is b.dtype and analyzer.can_prove_equal(a, b)


op.SIMPLIFIERS.register("merge_quotients", merge_quotients)
