"""Indices divided by a symbol: their quotient and their remainder as indices of their own.

    lambda i: [i // n, i % n] over 16   ->   lambda q, r: [q, r] over (16 / n rounded up, n)

With q and r instead of it the map is affine, whatever n is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range

from .expr import FloorDiv, FloorMod, IntImm, Var
from .functor import StmtExprMutator, uses_any, walk
from .op.arith import (
    cast,
    equal,
    floordiv,
    floormod,
    is_zero,
    less_equal,
    logical_and,
    negative,
    not_equal,
)


class Digits:
    """The two digits of one variable, which runs from zero."""

    __slots__ = ("_extent", "divisor", "high", "low", "var")

    def __init__(self, var: Var, extent: PrimExpr, divisor: PrimExpr) -> None:
        self.var: Final = var
        self.divisor: Final = cast(divisor, var.dtype)
        self.high: Final = var.copy_with_suffix("_0")
        self.low: Final = var.copy_with_suffix("_1")
        self._extent: Final = extent

    def domains(self) -> dict[Var, Range]:
        """The ranges of both digits; the extent is rounded up to what the divisor divides."""
        whole = Analyzer().simplify(floormod(negative(self._extent), self.divisor) + self._extent)
        count = Analyzer().simplify(floordiv(whole, self.divisor))
        return {
            self.high: Range.from_min_extent(0, count),
            self.low: Range.from_min_extent(0, self.divisor),
        }

    def value(self, values: Mapping[Var, PrimExpr]) -> PrimExpr:
        """The variable, from the values of its digits."""
        return values[self.low] + values[self.high] * self.divisor

    def padding(self, values: Mapping[Var, PrimExpr]) -> PrimExpr | None:
        """The condition under which the digits are those of no value; None if never."""
        prover = Analyzer()
        added = prover.simplify(
            not_equal(floormod(negative(self._extent), self.divisor), 0)
        )
        if is_zero(added):
            return None
        last = equal(values[self.high], prover.simplify(floordiv(self._extent, self.divisor)))
        edge = prover.simplify(floormod(self._extent, self.divisor))
        behind = logical_and(last, less_equal(edge, values[self.low]))
        return behind if isinstance(added, IntImm) else logical_and(added, behind)


def digits_of(indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> list[Digits]:
    """The variables that occur only divided by one and the same symbol."""
    found = []
    for var, dom in domains.items():
        divisor = _divisor(var, indices, domains)
        if divisor is not None and is_zero(dom.min):
            found.append(Digits(var, dom.extent, divisor))
    return found


def _divisor(
    var: Var, indices: Sequence[PrimExpr], domains: Mapping[Var, Range]
) -> PrimExpr | None:
    divided = [
        node
        for index in indices
        for node in walk(index)
        if isinstance(node, (FloorDiv, FloorMod)) and node.a is var
    ]
    uses = sum(node is var for index in indices for node in walk(index))
    if not divided or uses != len(divided):
        return None
    first = divided[0].b
    if isinstance(first, IntImm) or uses_any(first, domains):
        return None
    same = all(Analyzer().can_prove_equal(node.b, first) for node in divided)
    return first if same else None


class _Replacer(StmtExprMutator):
    def __init__(self, digits: Mapping[Var, Digits]) -> None:
        super().__init__()
        self._digits = digits

    def _digit(self, op: FloorDiv | FloorMod) -> PrimExpr | None:
        known = self._digits.get(op.a) if isinstance(op.a, Var) else None
        if known is None:
            return None
        return known.high if isinstance(op, FloorDiv) else known.low

    def visit_floor_div_(self, op: FloorDiv) -> PrimExpr:
        digit = self._digit(op)
        return super().visit_floor_div_(op) if digit is None else digit

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        digit = self._digit(op)
        return super().visit_floor_mod_(op) if digit is None else digit


def with_digits(indices: Sequence[PrimExpr], digits: Sequence[Digits]) -> list[PrimExpr]:
    """The indices with digits instead of quotients and remainders."""
    replacer = _Replacer({d.var: d for d in digits})
    return [replacer.visit_expr(index) for index in indices]
