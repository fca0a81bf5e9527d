"""The least range around the values that an index takes over a box of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tvm.arith import Analyzer
from tvm.arith.int_set import eval_set
from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.structural import structural_equal

from .expr import Call, FloorDiv, IntImm, Mul, Select, SizeVar, Var
from .functor import StmtExprMutator, substitute, uses_any
from .op.arith import floordiv, floormod, is_zero, negative


def range_of(index: PrimExpr, domains: Mapping[Var, Range], analyzer: Analyzer) -> Range:
    """The least range around the values of an index over a box."""
    numbers = _Numbers(domains)
    plain = numbers.visit_expr(index)
    if numbers.values:
        domains = {var: numbers.of_range(domain) for var, domain in domains.items()}
        found = range_of(plain, domains, Analyzer())
        low, extent = (substitute(part, numbers.values) for part in (found.min, found.extent))
        return Range.from_min_extent(low, extent)
    interval = eval_set(index, domains, analyzer)
    if not (interval.has_lower_bound() and interval.has_upper_bound()):
        raise CheckError(f"IndexMap: the bounds of {index} cannot be told; legal: affine indices")
    low, high = analyzer.simplify(interval.min_value), interval.max_value
    extent = analyzer.simplify(high - low + 1)
    if isinstance(index, FloorDiv) and is_zero(low) and not isinstance(extent, IntImm):
        inner = eval_set(index.a, domains, analyzer)
        if inner.has_upper_bound():
            extent = _parts(analyzer.simplify(inner.max_value + 1), index.b, analyzer)
    return Range.from_min_extent(low, extent)


class _Numbers(StmtExprMutator):
    """Symbols for choices and calls that are one number over the whole box.

    Bounds of a choice are those of either branch, which for a number is more than it is: an extent
    `select(n == 1, n + 1, n)` would leave room for n + 1. What an extent of the box is a product of
    is not negative where the box has any point.
    """

    def __init__(self, domains: Mapping[Var, Range]) -> None:
        super().__init__()
        self.values: Final[dict[Var, PrimExpr]] = {}
        self._moving: Final = frozenset(domains)
        self._factors: Final = [f for dom in domains.values() for f in _factors(dom.extent)]

    def of_range(self, domain: Range) -> Range:
        """The range in terms of the symbols."""
        parts = (self.visit_expr(domain.min), self.visit_expr(domain.extent))
        return Range.from_min_extent(*parts)

    def visit_call_(self, op: Call) -> PrimExpr:
        return super().visit_call_(op) if uses_any(op, self._moving) else self._symbol(op)

    def visit_select_(self, op: Select) -> PrimExpr:
        return super().visit_select_(op) if uses_any(op, self._moving) else self._symbol(op)

    def _symbol(self, number: PrimExpr) -> PrimExpr:
        for symbol, value in self.values.items():
            if structural_equal(value, number):
                return symbol
        extent = any(structural_equal(factor, number) for factor in self._factors)
        symbol = (SizeVar if extent else Var)("number", number.dtype)
        self.values[symbol] = number
        return symbol


def _factors(extent: PrimExpr) -> list[PrimExpr]:
    return [*_factors(extent.a), *_factors(extent.b)] if isinstance(extent, Mul) else [extent]


def _parts(extent: PrimExpr, size: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    """How many parts of a size cover an extent, the last of them padded."""
    rest = analyzer.simplify(floormod(extent, size))
    if isinstance(rest, IntImm) and isinstance(size, IntImm):  # n * 4 + 1 by 4 is n + 1
        return analyzer.simplify(floordiv(extent + -rest.value % size.value, size))
    return floordiv(extent - floormod(extent, negative(size)), size)  # n - n % -c is rounded up
